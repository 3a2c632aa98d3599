import { type JsonObject, stringifyJson } from '../base/json.ts'
import { revealHidden } from '../base/text.ts'
import { listOf, objectOf, textOf } from './api-client.ts'
import type { DialogueEvent, Dialogues, Place } from './dialogue.ts'
import type { Output } from './output.ts'

/** Writes one line to the detailed log of a session: to the file of the option `--log`, to stderr with `--verbose`, else nowhere. */
export type WriteLog = (line: string) => void | Promise<void>

/** Prints the events of a session. An answer of the model and the output of a command are printed piece by piece, while they are written. */
export class EventPrinter {
  readonly #output: Output
  readonly #writeLog: WriteLog
  readonly #printed: (place: Place) => Promise<string>
  /** The answer that the model is writing: `effect` is the id of the model call, and `text` is what was printed so far. */
  #written = { effect: '', text: '' }
  /** Whether the printed output does not end with a line end, so that the next event has to begin on a new line. */
  #isMidLine = false
  /** Whether a running command's output was printed piece by piece already. The event at the end of a check (a test command of a plan) repeats that output. */
  #hasPrinted = false

  /** @param printed reads what the command has printed whose end is the event at a place */
  constructor (output: Output, writeLog: WriteLog, printed: (place: Place) => Promise<string>) {
    this.#output = output
    this.#writeLog = writeLog
    this.#printed = printed
  }

  /** Prints an event; for programs, as one line of JSON. */
  async show (event: DialogueEvent): Promise<void> {
    const { type, data, place } = event
    if (this.#output.wantsJson) return await this.#output.jsonLine({ type, data })
    if (type === 'live') return await this.#showLive(data)
    if (type === 'stdout' && await this.#finish(data)) return
    if (this.#isMidLine) await this.print('\n')
    // A command that runs unasked can end before anybody follows the session: then nobody was sent its output while it ran.
    const isUnseen = type === 'command' && data['phase'] === 'ended' && data['effect'] !== undefined && data['check'] === undefined && !this.#hasPrinted
    if (isUnseen && place !== undefined) await this.#output.said(await this.#printed(place))
    if (type === 'log') return await this.#writeLog(`${textOf(data['level'])} [${textOf(data['prefix'])}] ${textOf(data['text'])}`)
    await showEvent(data['check'] !== undefined && this.#hasPrinted ? { type, data: withoutOutput(data) } : event, this.#output)
    if (type === 'command') this.#hasPrinted = false
  }

  /** Prints a piece of a command's output. The piece can end in the middle of a line. */
  async print (text: string): Promise<void> {
    if (this.#output.wantsJson) return await this.#output.jsonLine({ type: 'live', data: { type: 'command.output', text } })
    this.#isMidLine = !text.endsWith('\n')
    await this.#output.piece(revealHidden(text))
  }

  async #showLive (data: JsonObject): Promise<void> {
    const [effect, text] = [textOf(data['effect']), textOf(data['text'])]
    if (data['type'] === 'command.output') {
      this.#hasPrinted = true
      return await this.print(text)
    }
    if (data['type'] === 'child' || data['type'] === 'llm.progress') return
    if (data['type'] === 'terminal.waiting') return await this.#output.words(text)
    // If the output is no terminal, an answer is printed only once, when it is complete.
    if (this.#output.terminal === undefined) return
    if (data['type'] !== 'llm.delta') {
      this.#written = { effect: '', text: '' }
    } else {
      if (this.#isMidLine && this.#written.effect !== effect) await this.print('\n')
      this.#written = { effect, text: this.#written.effect === effect ? this.#written.text + text : text }
      await this.print(text)
    }
  }

  /**
   * Prints the rest of an answer whose beginning was printed while the model wrote it.
   * @returns false for any other text, of which nothing is printed here
   */
  async #finish ({ effect, text }: JsonObject): Promise<boolean> {
    const { effect: written, text: shown } = this.#written
    this.#written = { effect: '', text: '' }
    if (written === '' || effect !== written || !textOf(text).startsWith(shown)) return false
    const rest = textOf(text).slice(shown.length)
    await this.print(`${rest}${textOf(text).endsWith('\n') ? '' : '\n'}`)
    return true
  }
}

/** The data of an event about a check (a test command of a plan), without the check's output, which was printed already. */
function withoutOutput ({ output: _output, ...data }: DialogueEvent['data']): DialogueEvent['data'] {
  return data
}

/** The largest number of deleted files that a question lists by name; the diffs above the question have shown all of them. */
const MAX_NAMED = 50

/** Prints one event of a dialogue. The session's words, commands and diffs go to stdout, its progress and its errors to stderr. */
export async function showEvent ({ type, data }: DialogueEvent, output: Output): Promise<void> {
  switch (type) {
    case 'stdout': return await output.said(textOf(data['text']))
    case 'files': return await showFiles(data, output)
    case 'step': return await output.words(`step ${String(data['step'])} of ${String(data['max'])}`)
    // A message without `text` is only for a session's list of messages. Another event has the message's content, and is printed.
    case 'message': return data['text'] === undefined ? undefined : await output.said(textOf(data['text']))
    case 'ask': return await showQuestion(data, output)
    case 'command': return data['check'] === undefined ? await showCommand(data, output) : await output.words(checkInWords(data))
    case 'memory': return await output.words(memoryInWords(data))
    case 'approval': return data['rule'] === undefined ? await showDecision(data, output) : await output.words(questionInWords(data))
    case 'error': await output.words(`${textOf(data['code'])}: ${textOf(data['message'])}`)
  }
}

/** Prints a message of a session's past, in the form of `GET /api/sessions/{id}/messages`, much as the events were printed that it comes from. */
export async function showMessage ({ role, text, tool, command, output: printed }: JsonObject, output: Output): Promise<void> {
  if (role === 'user') return await output.words(`> ${textOf(text)}`)
  if (role === 'tool' && command === undefined) return await output.words(`${textOf(tool)}: ${textOf(text)}`)
  if (textOf(text) !== '') await (role === 'tool' ? output.words(textOf(text)) : output.said(textOf(text)))
  if (role === 'assistant' && command !== undefined) await output.said(`$ ${textOf(command)}`)
  if (textOf(printed) !== '') await output.said(textOf(printed))
}

function checkInWords ({ check, passed, output }: JsonObject): string {
  return `check ${textOf(check)}: ${passed === true ? 'passed' : `failed${output === undefined ? '' : `\n${textOf(output)}`}`}`
}

function memoryInWords ({ patch = null, isApplied, isOffered }: JsonObject): string {
  if (isApplied === true) return `remembered: ${stringifyJson(patch)}`
  return `to be remembered: ${stringifyJson(patch)}${isOffered === true ? '; "remember" agrees to it' : ''}`
}

function questionInWords (data: JsonObject): string {
  return `${textOf(data['rule'])}: ${inWords(data)}${data['kind'] === 'exec' ? '' : '; allow it? y or n'}`
}

async function showQuestion (data: JsonObject, output: Output): Promise<void> {
  await output.said(textOf(data['text']))
  if (data['required'] === false) await output.words('Enter alone skips the question')
}

async function showCommand (data: JsonObject, output: Output): Promise<void> {
  if (data['phase'] === 'proposed') return await output.said(`$ ${textOf(data['command'])}`)
  if (data['phase'] === 'denied') return await output.words(textOf(data['reason']))
  if (data['outcome'] !== 'exited') return await output.words(`the command has not ended by itself: ${textOf(data['outcome'])}`)
  if (data['exitCode'] !== 0) await output.words(`exit code ${String(data['exitCode'])}`)
}

/** Shows the command of a person's decision, if the person has allowed another command than the proposed one. */
async function showDecision ({ command }: JsonObject, output: Output): Promise<void> {
  if (command !== undefined) await showEdited(textOf(command), output)
}

/** Shows a command that runs in place of the proposed one. */
export async function showEdited (command: string, output: Output): Promise<void> {
  await output.said(`edited: $ ${command}`)
}

/** Prints changes of files: as diffs before they are made, and only as paths afterwards. */
async function showFiles (data: JsonObject, output: Output): Promise<void> {
  for (const file of listOf(data['files']).map(objectOf)) {
    if (data['stage'] === 'preview') await showFile(file, output)
    else await output.words(`${textOf(data['stage'])}: ${textOf(file['kind'])} ${textOf(file['path'])}`)
  }
  if (data['more'] !== undefined) await output.words(`${String(data['more'])} more files are not shown here`)
  for (const { path, reason } of listOf(data['conflicts']).map(objectOf)) {
    await output.words(`not ${textOf(data['stage'])}: ${textOf(path)} (${textOf(reason)})`)
  }
}

/** The action that a person is asked to allow, in words. */
function inWords (data: JsonObject): string {
  if (data['kind'] === 'apply') return deletionsOf(objectOf(data['change']))
  if (data['kind'] === 'commit') return `commit ${listOf(data['paths']).map(textOf).join(', ')}\n${textOf(data['message'])}\n`
  if (data['kind'] === 'child') {
    const { text, params } = objectOf(data['input'])
    return `call ${textOf(data['definition'])}: ${textOf(text)} ${stringifyJson(params ?? {})}`
  }
  return data['kind'] === 'exec' ? `on ${whereOf(data)}: ${textOf(data['command'])}` : `${textOf(data['tool'])} ${stringifyJson(data['arguments'] ?? null)}`
}

/** The target of a command (a machine), its host if it has one, and the folder in which the command begins. */
function whereOf ({ target, user, host, folder, folderUnknown }: JsonObject): string {
  const place = host === undefined ? '' : ` (${textOf(user)}@${textOf(host)})`
  const where = folderUnknown === true ? ' in a folder that nobody knows' : textOf(folder) === '' ? '' : ` in ${textOf(folder)}`
  return `${textOf(target)}${place}${where}`
}

/** The files that a change would delete, as they were shown to the user. */
function deletionsOf (change: JsonObject): string {
  const [wish = null] = Object.values(change)
  const deletions = listOf(objectOf(wish)['shown']).map(objectOf).filter(({ kind }) => textOf(kind).startsWith('DELETE_'))
  const named = deletions.slice(0, MAX_NAMED).map(({ kind, path }) => `${textOf(kind)} ${textOf(path)}`).join(', ')
  return deletions.length > MAX_NAMED ? `${named} and ${deletions.length - MAX_NAMED} more, ${deletions.length} in all` : named
}

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
async function showFile ({ kind, path, diff, isOutdated }: JsonObject, output: Output): Promise<void> {
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
