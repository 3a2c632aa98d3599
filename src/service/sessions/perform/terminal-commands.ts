import { isJsonObject } from '../../../base/json.ts'
import { type Language } from '../../../engine/texts/language.ts'
import { TERMINAL_TEXTS } from '../../../engine/texts/terminal-texts.ts'
import { ExecutorError } from '../../../exec/executor.ts'
import { type Terminals } from '../../../exec/terminal/terminals.ts'
import { type AboutEffect, approvalDigest } from '../../../session/approval.ts'
import { type ExecEffect, type Start } from '../../../session/model.ts'
import { LiveOutput } from './live-output.ts'
import { type Perform } from './performer.ts'

/** The most bytes of a command's output that the session's log keeps. */
const KEPT = 64 * 1024

/**
 * Makes the performer that runs a skill's commands in a terminal of this process. A command begins when the terminal's command line is empty.
 * A command that a person has allowed begins only in the folder that this person was shown.
 * @param about gives what a person would be shown about the command now
 */
export function runCommandsIn (terminals: Pick<Terminals, 'get'>, about: AboutEffect): Perform<ExecEffect> {
  return async ({ session, effect, signal, publish }) => {
    const { id, command, timeout, terminal: named = '' } = effect
    const terminal = terminals.get(named, session.start.owner)
    if (terminal === undefined) return { kind: 'failure', code: 'TERMINAL_GONE', message: 'the terminal has ended, and nothing was run' }
    const approved = session.open.get(id)?.approved
    const live = new LiveOutput(id, publish)
    try {
      const { outcome, ...ran } = await terminal.run(command, {
        timeout,
        signal,
        keep: KEPT,
        onOutput (text) { live.append('stdout', text) },
        onWait () { publish({ type: 'terminal.waiting', effect: id, terminal: named, text: TERMINAL_TEXTS[languageOf(session.start)].terminalBusy }) },
        mayBeginIn: () => approved === undefined || approvalDigest(session.id, effect, about(session, effect)) === approved
      })
      return outcome === 'lost' ? { kind: 'unknown' } : { kind: 'result', result: { outcome, ...ran, stderr: '', command } }
    } catch (error) {
      if (error instanceof ExecutorError) return { kind: 'failure', code: error.code, message: error.message }
      throw error
    } finally {
      live.end()
    }
  }
}

function languageOf ({ setting }: Pick<Start, 'setting'>): Language {
  const skill = isJsonObject(setting) ? setting['skill'] : undefined
  return isJsonObject(skill) && skill['language'] === 'ru' ? 'ru' : 'en'
}
