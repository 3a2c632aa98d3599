import assert from 'node:assert/strict'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const FOLDER = 'bench/.build/without-explain'

/** A statement that tells the trace of a render something, on a line of its own or behind a condition. */
const TELLING = /(?<=^\s*|\) )[\w.#]*\btrace\?\.\w+\(.*\);$/gm

/**
 * Makes a build of the service whose renders ask nowhere whether they are to be explained; templates that are compiled
 * without `?explain=true` have nothing of it anyway.
 * @returns its script
 */
export async function buildWithoutExplain (): Promise<string> {
  await rm(FOLDER, { recursive: true, force: true })
  const dist = join(FOLDER, 'dist')
  await cp('dist', dist, { recursive: true })
  await cp('jsonschema', join(FOLDER, 'jsonschema'), { recursive: true })
  let told = 0
  for (const name of await readdir(dist, { recursive: true })) {
    if (!name.endsWith('.js')) continue
    const file = join(dist, name)
    const text = await readFile(file, 'utf8')
    const without = text.replace(TELLING, () => { told++; return ';' })
    if (without !== text) await writeFile(file, without)
  }
  assert.ok(told >= 10, `only ${told} statements tell a trace: the pattern does not find them any more`)
  return join(dist, 'main.js')
}
