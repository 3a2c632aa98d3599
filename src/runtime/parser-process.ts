import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pLimit from 'p-limit'

/** A child without a question for this time is ended, in ms. */
const IDLE_MILLISECONDS = 60_000

/** Of the process's heap, in MiB. */
const MAX_MEGABYTES = 256

/** Idle children of closed services, by module: the next service that asks takes one over. */
const spares = new Map<string, ChildProcess>()

export interface ParserProcess<Question, Answer> {
  /** `undefined` when the process takes too long, crashes or is closed. */
  ask (question: Question): Promise<Answer | undefined>
  waiting (): number
  close (): Promise<void>
}

/**
 * No timer can stop a synchronous parser of a hostile text, but a process can be killed. It gets none of the service's environment.
 * @param entry a module without its ending, in the folder of `beside` and with the same ending (.ts or .js); it calls `answerQuestions`
 * @param timeout for one answer, in ms; a child that takes longer is killed
 */
export function createParserProcess<Question extends object, Answer> (entry: string, beside: string, timeout: number): ParserProcess<Question, Answer> {
  const file = fileURLToPath(new URL(`./${entry}${beside.endsWith('.ts') ? '.ts' : '.js'}`, beside))
  const oneAtATime = pLimit(1)
  let child: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let isClosed = false

  async function answer (question: Question): Promise<Answer | undefined> {
    clearTimeout(idle)
    if (isClosed) return undefined
    if (child?.connected !== true) child = takeSpare(file) ?? await start(file)
    const answered = await ask<Answer>(child, question, timeout)
    if (answered === undefined) await end()
    else idle = setTimeout(() => { void end() }, IDLE_MILLISECONDS).unref()
    return answered
  }

  async function end (): Promise<void> {
    const ending = child
    child = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return
    ending.ref()
    ending.kill('SIGKILL')
    await once(ending, 'exit')
  }

  return {
    ask: question => oneAtATime(answer, question),
    waiting: () => oneAtATime.pendingCount,
    async close () {
      isClosed = true
      clearTimeout(idle)
      const isIdle = child?.connected === true && oneAtATime.activeCount === 0
      if (!isIdle || spares.has(file)) return await end()
      // It ends with this process, whose channel it reads.
      spares.set(file, child as ChildProcess)
    }
  }
}

function takeSpare (file: string): ChildProcess | undefined {
  const spare = spares.get(file)
  spares.delete(file)
  return spare?.connected === true ? spare : undefined
}

async function start (file: string): Promise<ChildProcess> {
  const child = fork(file, {
    serialization: 'advanced',
    env: {},
    execArgv: [...process.execArgv, `--max-old-space-size=${MAX_MEGABYTES}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc']
  })
  await new Promise((resolve, reject) => {
    child.once('message', resolve)
    child.once('error', reject)
    child.once('exit', code => { reject(new Error(`the process that parses what strangers send ended with ${code}`)) })
  })
  // The callback of `send` reports a dead process; without this listener, `error` would end the service.
  child.on('error', () => {})
  // An idle process must not keep the service from ending.
  child.unref()
  child.channel?.unref()
  return child
}

function ask<Answer> (child: ChildProcess, question: object, timeout: number): Promise<Answer | undefined> {
  return new Promise(resolve => {
    const finish = (answer?: Answer) => {
      clearTimeout(timer)
      child.off('message', finish)
      child.off('exit', giveUp)
      resolve(answer)
    }
    const giveUp = () => { finish() }
    const timer = setTimeout(giveUp, timeout)
    child.on('message', finish)
    child.on('exit', giveUp)
    child.send(question, error => { if (error !== null) finish() })
  })
}
