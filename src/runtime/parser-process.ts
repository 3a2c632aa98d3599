import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pLimit from 'p-limit'

/** After this time without a question, the child process is ended, in ms. */
const IDLE_MILLISECONDS = 60_000

/** The greatest size of the process's heap, in MiB. */
const MAX_MEGABYTES = 256

/** Idle children of services of this process that are closed, by the module that they run: the next service that asks goes on with one of them. */
const spares = new Map<string, ChildProcess>()

/** A child process that parses texts from strangers, one at a time. */
export interface ParserProcess<Question, Answer> {
  /** Asks a question and gives the answer of the process; `undefined` when the process takes too long, crashes or is closed. */
  ask (question: Question): Promise<Answer | undefined>
  /** The number of questions that wait until an earlier one is answered. */
  waiting (): number
  close (): Promise<void>
}

export interface ParserProcessOptions {
  /** The name, without its ending, of the module that the process runs and that calls `answerQuestions`. It lies in the folder of the module that asks. */
  readonly entry: string
  /** The `import.meta.url` of the module that asks. Its ending (.ts or .js) is that of the entry, too. */
  readonly beside: string
  /** The longest time for one answer, in ms. A child process that takes longer is killed. */
  readonly timeout: number
}

/**
 * Makes a child process that parses texts from strangers. A parser is synchronous, so no timer can stop it, and even a text within all bounds can
 * take seconds; a process can be killed. The process starts with the first question, gets none of the service's environment variables, and is killed
 * when an answer takes too long. Questions and answers are plain data.
 */
export function createParserProcess<Question extends object, Answer> ({ entry, beside, timeout }: ParserProcessOptions): ParserProcess<Question, Answer> {
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
  // If a message cannot be sent because the process is dead, the callback of `send` reports it. The event `error` without a listener would end the service.
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
