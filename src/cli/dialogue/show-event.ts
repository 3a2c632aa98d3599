import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type DialogueEvent } from './dialogue.ts'
import { listOf, objectOf, textOf } from '../json-members.ts'
import { type Output } from '../output.ts'
import { showFile } from '../show-preview.ts'

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
