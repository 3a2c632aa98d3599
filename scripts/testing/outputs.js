// What is compiled into .build stays there, so that the next compile has less to do. What has no source any more must not.
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'

const COMPILED = ['src', 'test', 'bench', 'scripts', 'examples']

/** Removes what was compiled from, or copied of, a file that is gone. */
export function removeOrphans () {
  for (const folder of COMPILED.filter(each => existsSync(`.build/${each}`))) {
    for (const entry of readdirSync(`.build/${folder}`, { recursive: true, withFileTypes: true })) {
      if (entry.isDirectory()) continue
      const path = `${entry.parentPath ?? entry.path}/${entry.name}`.replaceAll('\\', '/')
      if (!hasSource(path.slice('.build/'.length))) rmSync(path)
    }
  }
}

function hasSource (path) {
  return existsSync(path) || existsSync(path.replace(/\.js(?:\.map)?$/, '.ts'))
}

/** Copies what tests read beside themselves, and what they start as a process of its own, to where they look for it. */
export function copySources () {
  for (const path of ['src', 'test', 'jsonschema', 'prompts.json', 'examples/starters']) cpSync(path, `.build/${path}`, { recursive: true })
}
