import { Clip } from './clip.ts'
import { KEPT, type RunOptions, type Stream } from './executor.ts'

/** Captures the output of a command: keeps the beginning and the end of each stream, and passes on each piece of output as soon as it comes. */
export class Captured {
  readonly #clips: Readonly<Record<Stream, Clip>>
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  readonly #onOutput: RunOptions['onOutput']

  constructor ({ keep = KEPT, onOutput }: RunOptions) {
    this.#clips = { stdout: new Clip(keep), stderr: new Clip(keep) }
    this.#onOutput = onOutput
  }

  append (stream: Stream, bytes: Buffer): void {
    this.#clips[stream].append(bytes)
    const text = this.#decoders[stream].decode(bytes, { stream: true })
    if (text !== '') this.#onOutput?.(stream, text)
  }

  texts (): Readonly<Record<Stream, string>> {
    return { stdout: this.#clips.stdout.text(), stderr: this.#clips.stderr.text() }
  }
}
