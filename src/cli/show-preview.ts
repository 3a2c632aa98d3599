import { type JsonObject } from '../base/json.ts'
import { type Dialogues } from './dialogue/dialogue.ts'
import { listOf, objectOf, textOf } from './json-members.ts'
import { type Output } from './output.ts'

/** The possible answers to a diff, shown to a user who resumes a session and so does not see the session's own question. */
export const DIFF_ANSWERS = 'ok writes it, reject drops it, other words change it'

/** The change of a plan, as far as the user has seen it. The user is allowed to agree to the change only after all of it was shown. */
export class ShownChange {
  readonly #dialogues: Pick<Dialogues, 'preview'>
  readonly #output: Output
  /** `#count` is how many files of the change were shown, `#more` how many were not shown yet, `#cut` the paths whose diff was cut. */
  #count = 0
  #more = 1
  #cut: string[] = []
  #digest: string | undefined

  constructor (dialogues: Pick<Dialogues, 'preview'>, output: Output) {
    this.#dialogues = dialogues
    this.#output = output
  }

  /** Records the first part of a plan's change, which the caller itself prints. @param data of the event `files` */
  begin ({ files, more = 0, digest }: JsonObject): void {
    const shown = listOf(files).map(objectOf)
    this.#count = shown.length
    this.#more = Number(more)
    this.#digest = typeof digest === 'string' ? digest : undefined
    this.#cut = shown.filter(({ isCut }) => isCut === true).map(({ path }) => textOf(path))
  }

  /** The digest by which the user agrees to the change; `undefined` until the whole change was shown. */
  get digest (): string | undefined {
    return this.#more > 0 ? undefined : this.#digest
  }

  /**
   * Prints the part of the change that was not shown yet. With `--json`, prints it as more events `files`, and prints two events `text` for
   * each diff that was cut: the file's text before the change, and after it.
   * @throws CliError
   */
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

  /** Prints the whole diff of a file whose diff was cut. */
  async #showTexts (id: string, path: string): Promise<void> {
    const textOn = async (side: 'before' | 'after'): Promise<JsonObject> => await this.#dialogues.preview(id, { path, side })
    const [before, after] = await Promise.all([textOn('before'), textOn('after')])
    if (this.#output.wantsJson) {
      for (const data of [before, after]) await this.#output.jsonLine({ type: 'text', data })
      return
    }
    const [old, young] = [before, after].map(({ text }) => textOf(text)) as [string, string]
    // Every command loads this module, but few print a diff, and the package for it takes a tenth of the time of `aps --help`.
    const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff')
    const oldName = before['sha256'] === null ? '/dev/null' : `a/${path}`
    const newName = after['sha256'] === null ? '/dev/null' : `b/${path}`
    const options = { context: 3, headerOptions: FILE_HEADERS_ONLY, timeout: TIMEOUT_MS }
    const patch = createTwoFilesPatch(oldName, newName, old, young, undefined, undefined, options)
    await this.#output.diff(patch ?? wholeTexts(path, old, young))
    for (const { side, bytes, isCut } of [before, after]) {
      if (isCut === true) await this.#output.words(`${path}: ${textOf(side)} it has ${String(bytes)} bytes, of which the first MiB is shown`)
    }
  }
}

/** Prints one file of a change as a diff. */
export async function showFile ({ kind, path, diff, isOutdated }: JsonObject, output: Output): Promise<void> {
  if (isOutdated === true) await output.words(`${textOf(kind)} ${textOf(path)}: it has changed since it was shown`)
  else if (textOf(diff) === '') await output.words(`${textOf(kind)} ${textOf(path)}`)
  else await output.diff(textOf(diff))
}

/** The longest time, in ms, that the search for the differences of two texts can take. After that time both texts are printed whole. */
const TIMEOUT_MS = 2000

function wholeTexts (path: string, old: string, young: string): string {
  const lines = (text: string, sign: string): string => text.split('\n').map(line => `${sign}${line}\n`).join('')
  return `--- a/${path}\n+++ b/${path}\n@@ @@\n${lines(old, '-')}${lines(young, '+')}`
}
