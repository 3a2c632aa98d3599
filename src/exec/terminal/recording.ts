import { createWriteStream, type WriteStream } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makePrivateFolder, PRIVATE_FILE } from '../../base/durable-files.ts'
import { type Size } from '../executor.ts'

/** In bytes. Later output is not recorded. */
const MOST = 16 * 1024 * 1024

/** In ms. */
const KEPT = 30 * 24 * 60 * 60_000

const ENDING = '.cast'

/** asciicast v2 (https://docs.asciinema.org/manual/asciicast/v2/). The keys that are typed are not recorded. */
export class Recording {
  readonly #file: WriteStream
  readonly #began = performance.now()
  #left = MOST

  /** Removes old recordings from the folder. @throws Error */
  static async open (folder: string, id: string, { cols, rows }: Size): Promise<Recording> {
    await makePrivateFolder(folder)
    await forgetOld(folder)
    const file = createWriteStream(join(folder, `${id}${ENDING}`), { flags: 'wx', mode: PRIVATE_FILE })
    // A full disk ends the recording, and nothing else.
    file.on('error', () => {})
    const recording = new Recording(file)
    recording.#write({ version: 2, width: cols, height: rows, timestamp: Math.floor(Date.now() / 1000) })
    return recording
  }

  private constructor (file: WriteStream) {
    this.#file = file
  }

  output (text: string): void {
    this.#event('o', text)
  }

  resized ({ cols, rows }: Size): void {
    this.#event('r', `${cols}x${rows}`)
  }

  async close (): Promise<void> {
    if (this.#file.closed) return
    await new Promise<void>(resolve => {
      this.#file.once('close', resolve)
      this.#file.end()
    })
  }

  #event (code: string, text: string): void {
    this.#write([Number(((performance.now() - this.#began) / 1000).toFixed(6)), code, text])
  }

  #write (value: object): void {
    const line = `${JSON.stringify(value)}\n`
    this.#left -= Buffer.byteLength(line)
    if (this.#left < 0) this.#left = 0
    else this.#file.write(line)
  }
}

async function forgetOld (folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const seen = name.endsWith(ENDING) ? await stat(path).catch(() => undefined) : undefined
    if (seen !== undefined && Date.now() - seen.mtimeMs > KEPT) await rm(path, { force: true })
  }
}
