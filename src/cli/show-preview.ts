import { type JsonObject } from '../base/json.ts'
import { type Dialogues } from './dialogue/dialogue.ts'
import { listOf, objectOf, textOf } from './json-members.ts'
import { type Output } from './output.ts'

/** A change as it is shown in a dialogue: nobody is asked about what he has not seen. */
export class ShownChange {
  readonly #dialogues: Pick<Dialogues, 'preview'>
  readonly #output: Output
  /** How many of its paths were shown and are still to be, and those whose diff was cut. */
  #count = 0
  #more = 1
  #cut: string[] = []
  #digest: string | undefined

  constructor (dialogues: Pick<Dialogues, 'preview'>, output: Output) {
    this.#dialogues = dialogues
    this.#output = output
  }

  /** The first part of a change has been shown. @param data of the event `files` */
  begin ({ files, more = 0, digest }: JsonObject): void {
    const shown = listOf(files).map(objectOf)
    this.#count = shown.length
    this.#more = Number(more)
    this.#digest = typeof digest === 'string' ? digest : undefined
    this.#cut = shown.filter(({ isCut }) => isCut === true).map(({ path }) => textOf(path))
  }

  /** Of a change that waits for its user's consent, once all of it was shown. */
  get digest (): string | undefined {
    return this.#more > 0 ? undefined : this.#digest
  }

  /** Shows all of it that was not shown yet; as JSON, in further events `files`, and `text` for each side of what was cut. @throws CliError */
  async finish (id: string): Promise<void> {
    for (const path of this.#cut.splice(0)) await this.#showTexts(id, path)
    while (this.#more > 0) {
      const page = await this.#dialogues.preview(id, { after: this.#count })
      const files = listOf(page['files']).map(objectOf)
      const { kind, digest } = objectOf(page['confirm'] ?? {})
      if (kind === 'diff') this.#digest = textOf(digest)
      this.#count += files.length
      if (this.#output.wantsJson) await this.#output.jsonLine({ type: 'files', data: { ...page, stage: 'preview' } })
      for (const file of files) {
        if (file['isCut'] === true) await this.#showTexts(id, textOf(file['path']))
        else if (!this.#output.wantsJson) await showFile(file, this.#output)
      }
      this.#more = files.length === 0 ? 0 : Number(page['more'])
    }
  }

  /** The whole of a difference that was too long to be shown at once. */
  async #showTexts (id: string, path: string): Promise<void> {
    const [before, after] = await Promise.all((['before', 'after'] as const).map(side => this.#dialogues.preview(id, { path, side }))) as [JsonObject, JsonObject]
    if (this.#output.wantsJson) {
      for (const data of [before, after]) await this.#output.jsonLine({ type: 'text', data })
      return
    }
    const [old, young] = [before, after].map(({ text }) => textOf(text)) as [string, string]
    // Every command loads this file, few show a difference: the package is a tenth of what `aps --help` takes.
    const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff')
    await this.#output.diff(createTwoFilesPatch(before['sha256'] === null ? '/dev/null' : `a/${path}`, after['sha256'] === null ? '/dev/null' : `b/${path}`, old, young, undefined, undefined, { context: 3, headerOptions: FILE_HEADERS_ONLY, timeout: TIMEOUT_MS }) ?? wholeTexts(path, old, young))
    for (const { side, bytes, isCut } of [before, after]) if (isCut === true) await this.#output.words(`${path}: ${textOf(side)} it has ${String(bytes)} bytes, of which the first MiB is shown`)
  }
}

/** Shows one path of a change. */
export async function showFile ({ kind, path, diff, isOutdated }: JsonObject, output: Output): Promise<void> {
  if (isOutdated === true) await output.words(`${textOf(kind)} ${textOf(path)}: it has changed since it was shown`)
  else if (textOf(diff) === '') await output.words(`${textOf(kind)} ${textOf(path)}`)
  else await output.diff(textOf(diff))
}

/** How long a difference may take to be found, in ms; beyond, both texts are shown. */
const TIMEOUT_MS = 2000

function wholeTexts (path: string, old: string, young: string): string {
  const lines = (text: string, sign: string): string => text.split('\n').map(line => `${sign}${line}\n`).join('')
  return `--- a/${path}\n+++ b/${path}\n@@ @@\n${lines(old, '-')}${lines(young, '+')}`
}
