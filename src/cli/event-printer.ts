import { type JsonObject, listOf, objectOf, stringifyJson, textOf } from '../base/json.ts'
import { revealHidden } from '../base/text.ts'
import type { DialogueEvent, Dialogues, EventPlace } from './dialogue.ts'
import type { Output } from './output.ts'

export type WriteLog = (line: string) => void | Promise<void>

/** Answers and outputs are printed piece by piece, while they are written. */
export class EventPrinter {
  readonly #output: Output
  readonly #writeLog: WriteLog
  readonly #printed: (place: EventPlace) => Promise<string>
  #written = { effect: '', text: '' }
  #isMidLine = false
  /** The event at the end of a check repeats output that was printed already. */
  #hasPrinted = false

  constructor (output: Output, writeLog: WriteLog, printed: (place: EventPlace) => Promise<string>) {
    this.#output = output
    this.#writeLog = writeLog
    this.#printed = printed
  }

  async show (event: DialogueEvent): Promise<void> {
    const { type, data, place } = event
    if (this.#output.wantsJson) return await this.#output.jsonLine({ type, data })
    if (type === 'live') return await this.#showLive(data)
    if (type === 'stdout' && await this.#finish(data)) return
    if (this.#isMidLine) await this.print('\n')
    // A command that runs unasked can end before anybody follows the session: nobody was sent its output.
    const isUnseen = type === 'command' && data['phase'] === 'ended' && data['effect'] !== undefined && data['check'] === undefined && !this.#hasPrinted
    if (isUnseen && place !== undefined) await this.#output.said(await this.#printed(place))
    if (type === 'log') return await this.#writeLog(`${textOf(data['level'])} [${textOf(data['prefix'])}] ${textOf(data['text'])}`)
    await showEvent(data['check'] !== undefined && this.#hasPrinted ? { type, data: withoutOutput(data) } : event, this.#output)
    if (type === 'command') this.#hasPrinted = false
  }

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
    // Without a terminal, an answer is printed only once it is complete.
    if (this.#output.terminal === undefined) return
    if (data['type'] !== 'llm.delta') {
      this.#written = { effect: '', text: '' }
    } else {
      if (this.#isMidLine && this.#written.effect !== effect) await this.print('\n')
      this.#written = { effect, text: this.#written.effect === effect ? this.#written.text + text : text }
      await this.print(text)
    }
  }

  /** @returns false for another text, of which nothing is printed here */
  async #finish ({ effect, text }: JsonObject): Promise<boolean> {
    const { effect: written, text: shown } = this.#written
    this.#written = { effect: '', text: '' }
    if (written === '' || effect !== written || !textOf(text).startsWith(shown)) return false
    const rest = textOf(text).slice(shown.length)
    await this.print(`${rest}${textOf(text).endsWith('\n') ? '' : '\n'}`)
    return true
  }
}

function withoutOutput ({ output: _output, ...data }: DialogueEvent['data']): DialogueEvent['data'] {
  return data
}

/** The diffs above the question have shown all of them. */
const MAX_NAMED = 50

/** Words, commands and diffs go to stdout, progress and errors to stderr. */
export async function showEvent ({ type, data }: DialogueEvent, output: Output): Promise<void> {
  switch (type) {
    case 'stdout': return await output.said(textOf(data['text']))
    case 'files': return await showFiles(data, output)
    case 'step': return await output.words(`step ${String(data['step'])} of ${String(data['max'])}`)
    // A message without `text` is only for the list of messages; another event has its content.
    case 'message': return data['text'] === undefined ? undefined : await output.said(textOf(data['text']))
    case 'ask': return await showQuestion(data, output)
    case 'command': return data['check'] === undefined ? await showCommand(data, output) : await output.words(describeCheck(data))
    case 'memory': return await output.words(describeRemembered(data))
    case 'approval': return data['rule'] === undefined ? await showDecision(data, output) : await output.words(describeQuestion(data))
    case 'error': await output.words(`${textOf(data['code'])}: ${textOf(data['message'])}`)
  }
}

export async function showMessage ({ role, text, tool, command, output: printed }: JsonObject, output: Output): Promise<void> {
  if (role === 'user') return await output.words(`> ${textOf(text)}`)
  if (role === 'tool' && command === undefined) return await output.words(`${textOf(tool)}: ${textOf(text)}`)
  if (textOf(text) !== '') await (role === 'tool' ? output.words(textOf(text)) : output.said(textOf(text)))
  if (role === 'assistant' && command !== undefined) await output.said(`$ ${textOf(command)}`)
  if (textOf(printed) !== '') await output.said(textOf(printed))
}

function describeCheck ({ check, passed, output }: JsonObject): string {
  return `check ${textOf(check)}: ${passed === true ? 'passed' : `failed${output === undefined ? '' : `\n${textOf(output)}`}`}`
}

function describeRemembered ({ patch = null, isApplied, isOffered }: JsonObject): string {
  if (isApplied === true) return `remembered: ${stringifyJson(patch)}`
  return `to be remembered: ${stringifyJson(patch)}${isOffered === true ? '; "remember" agrees to it' : ''}`
}

function describeQuestion (data: JsonObject): string {
  return `${textOf(data['rule'])}: ${describeAction(data)}${data['kind'] === 'exec' ? '' : '; allow it? y or n'}`
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

async function showDecision ({ command }: JsonObject, output: Output): Promise<void> {
  if (command !== undefined) await showEdited(textOf(command), output)
}

export async function showEdited (command: string, output: Output): Promise<void> {
  await output.said(`edited: $ ${command}`)
}

/** As diffs before they are made, afterwards only as paths. */
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

function describeAction (data: JsonObject): string {
  if (data['kind'] === 'apply') return deletionsOf(objectOf(data['change']))
  if (data['kind'] === 'commit') return `commit ${listOf(data['paths']).map(textOf).join(', ')}\n${textOf(data['message'])}\n`
  if (data['kind'] === 'child') {
    const { text, params } = objectOf(data['input'])
    return `call ${textOf(data['definition'])}: ${textOf(text)} ${stringifyJson(params ?? {})}`
  }
  return data['kind'] === 'exec' ? `on ${whereOf(data)}: ${textOf(data['command'])}` : `${textOf(data['tool'])} ${stringifyJson(data['arguments'] ?? null)}`
}

function whereOf ({ target, user, host, folder, folderUnknown }: JsonObject): string {
  const place = host === undefined ? '' : ` (${textOf(user)}@${textOf(host)})`
  const where = folderUnknown === true ? ' in a folder that nobody knows' : textOf(folder) === '' ? '' : ` in ${textOf(folder)}`
  return `${textOf(target)}${place}${where}`
}

function deletionsOf (change: JsonObject): string {
  const [wish = null] = Object.values(change)
  const deletions = listOf(objectOf(wish)['shown']).map(objectOf).filter(({ kind }) => textOf(kind).startsWith('DELETE_'))
  const named = deletions.slice(0, MAX_NAMED).map(({ kind, path }) => `${textOf(kind)} ${textOf(path)}`).join(', ')
  return deletions.length > MAX_NAMED ? `${named} and ${deletions.length - MAX_NAMED} more, ${deletions.length} in all` : named
}

/** A user who resumes a session does not see its own question. */
export const DIFF_ANSWERS = 'ok writes it, reject drops it, other words change it'

/** The user may agree to the change only after all of it was shown. */
export class ShownChange {
  readonly #dialogues: Pick<Dialogues, 'preview'>
  readonly #output: Output
  #count = 0
  #more = 1
  #cut: string[] = []
  #digest: string | undefined

  constructor (dialogues: Pick<Dialogues, 'preview'>, output: Output) {
    this.#dialogues = dialogues
    this.#output = output
  }

  begin ({ files, more = 0, digest }: JsonObject): void {
    const shown = listOf(files).map(objectOf)
    this.#count = shown.length
    this.#more = Number(more)
    this.#digest = typeof digest === 'string' ? digest : undefined
    this.#cut = shown.filter(({ isCut }) => isCut === true).map(({ path }) => textOf(path))
  }

  /** `undefined` until the whole change was shown. */
  get digest (): string | undefined {
    return this.#more > 0 ? undefined : this.#digest
  }

  /** With `--json` as events `files`, and two events `text` (before, after) for each cut diff. @throws CliError */
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

  async #showTexts (id: string, path: string): Promise<void> {
    const textOn = async (side: 'before' | 'after'): Promise<JsonObject> => await this.#dialogues.preview(id, { path, side })
    const [before, after] = await Promise.all([textOn('before'), textOn('after')])
    if (this.#output.wantsJson) {
      for (const data of [before, after]) await this.#output.jsonLine({ type: 'text', data })
      return
    }
    const [old, young] = [before, after].map(({ text }) => textOf(text)) as [string, string]
    // Few commands print a diff, and its package takes a tenth of the time of `aps --help`.
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

async function showFile ({ kind, path, diff, isOutdated }: JsonObject, output: Output): Promise<void> {
  if (isOutdated === true) await output.words(`${textOf(kind)} ${textOf(path)}: it has changed since it was shown`)
  else if (textOf(diff) === '') await output.words(`${textOf(kind)} ${textOf(path)}`)
  else await output.diff(textOf(diff))
}

/** In ms, for the search for differences; after it both texts are printed whole. */
const TIMEOUT_MS = 2000

function wholeTexts (path: string, old: string, young: string): string {
  const lines = (text: string, sign: string): string => text.split('\n').map(line => `${sign}${line}\n`).join('')
  return `--- a/${path}\n+++ b/${path}\n@@ @@\n${lines(old, '-')}${lines(young, '+')}`
}
