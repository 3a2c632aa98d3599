// npm run bench:terminals: what terminals cost: the memory of idle ones, a command in one beside the same command without, and renders beside
// busy ones. --only memory|commands|beside measures a part; --json FILE writes the rows as JSON.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { environmentOf, LocalExecutor, whyNoSandbox } from '../src/exec/local-executor.ts'
import { type Executor, USUAL_SIZE } from '../src/exec/executor.ts'
import { SshExecutor } from '../src/exec/ssh-executor.ts'
import { Terminal } from '../src/exec/terminal/terminal.ts'
import { noSshd, startOpenSsh, type TestSshd } from '../test/helpers/sshd.ts'
import { tokenEntry } from '../test/helpers/tokens.ts'
import { type Flood } from './open-loop.ts'
import { residentMegabytes, type ServerProcess } from './processes.ts'
import { report, type Row } from './report.ts'
import { median } from './rounds.ts'
import { beside, RATE, render, ROUNDS } from './sessions-beside.ts'
import { onStage, type Stage } from './stage.ts'

/** As many as a process has; a token has four of them. */
const TERMINALS = 32
const OF_TOKEN = 4
const OWNERS = Array.from({ length: TERMINALS / OF_TOKEN }, (_, index) => `t${index}`)

/** After so long a service has done what it does after a start or after opening a terminal, in ms. */
const REST = 5000

/** Commands in a round. */
const COMMANDS = 20

const NEVER = new AbortController().signal

const sandbox = await whyNoSandbox() === undefined ? 'required' : 'off'

const { values: { json, only } } = parseArgs({ options: { json: { type: 'string' }, only: { type: 'string' } } })
const PARTS: ReadonlyMap<string, () => Promise<Row[]>> = new Map([['memory', idleTerminals], ['commands', commandsBeside], ['beside', rendersBeside]])
const rows: Row[] = []
for (const [name, measure] of PARTS) if (only === undefined || only === name) rows.push(...await measure())
report(`Terminals: Node ${process.version}, ${cpus().length} cores, sandbox ${sandbox}; medians of ${ROUNDS} rounds`, rows, json)

/** By how much the service grows with idle terminals, on each type of target. */
async function idleTerminals (): Promise<Row[]> {
  return await withSshd(async server => {
    const measured: Row[] = []
    for (const target of server === undefined ? ['here'] : ['here', 'web']) {
      measured.push(await onStage(async stage => {
        // No render comes before: what it leaves behind would be collected meanwhile.
        const { origin, pid } = await serve(stage, server)
        await sleep(REST)
        const before = await resident(pid)
        await open(origin, 't0', target)
        await sleep(REST)
        const first = await resident(pid)
        for (let count = 1; count < TERMINALS; count++) await open(origin, OWNERS[count % OWNERS.length] as string, target)
        await sleep(REST)
        const grown = await resident(pid) - before
        const name = target === 'here' ? 'local' : 'ssh'
        return { name: `terminals/idle/${name}`, figure: grown, unit: 'MB', details: `resident, ${TERMINALS} idle terminals; ${before.toFixed(0)} MB before, ${(first - before).toFixed(1)} MB with the first, whose code is loaded` }
      }))
    }
    return measured
  })
}

/** The time of a command in a terminal beside its time without one. */
async function commandsBeside (): Promise<Row[]> {
  return await withSshd(async server => {
    const folder = await mkdtemp(join(tmpdir(), 'bench-terminals-'))
    const [workspace, state] = [join(folder, 'shop'), join(folder, 'state')]
    await mkdir(workspace)
    const local = new LocalExecutor({ workspace, sandbox, hasNetwork: false, environment: environmentOf(process.env, []), secrets: [], mayRunAsRoot: true, terminals: state })
    const executors: Array<[string, Executor]> = [['local', local]]
    if (server !== undefined) {
      const { port, user, hostKey, keyFile } = server
      executors.push(['ssh', new SshExecutor({ type: 'ssh', name: 'web', host: '127.0.0.1', port, user, hostKey, keyFile, cwd: workspace, hasSkills: false, mayRunUnasked: false }, undefined)])
    }
    try {
      const measured: Row[] = []
      for (const [name, executor] of executors) for (const command of ['true', 'seq 1 2000']) measured.push(await commandBeside(name, executor, command))
      return measured
    } finally {
      await Promise.all(executors.map(([, executor]) => executor.close()))
      await rm(folder, { recursive: true })
    }
  })
}

async function commandBeside (name: string, executor: Executor, command: string): Promise<Row> {
  const terminal = await Terminal.open({ name, size: USUAL_SIZE, open: options => executor.openPty(options) })
  const options = { timeout: 60_000, signal: NEVER }
  const sides = [() => terminal.run(command, options), () => executor.run(command, options)] as const
  for (const side of sides) await timeOf(side)
  const rounds: Array<readonly [inside: number, outside: number]> = []
  for (let round = 0; round < ROUNDS; round++) rounds.push([await timeOf(sides[0]), await timeOf(sides[1])])
  await terminal.end('the round is over')
  const [inside, outside] = [median(rounds.map(([one]) => one)), median(rounds.map(([, other]) => other))]
  const figure = median(rounds.map(([one, other]) => one / other))
  return { name: `terminals/command/${name}/${command.split(' ')[0] ?? ''}`, figure, unit: 'x', details: `${command}: ${inside.toFixed(1)} ms, without a terminal ${outside.toFixed(1)} ms` }
}

/** The time of one run, in ms. */
async function timeOf (run: () => Promise<{ readonly exitCode: number | null }>): Promise<number> {
  const begin = performance.now()
  for (let count = 0; count < COMMANDS; count++) {
    const { exitCode } = await run()
    if (exitCode !== 0) throw new Error(`a command ended with ${String(exitCode)}`)
  }
  return (performance.now() - begin) / COMMANDS
}

/** Renders of a service whose terminals are busy, beside those of one without terminals, in turns. */
async function rendersBeside (): Promise<Row[]> {
  return await onStage(async stage => {
    const [{ origin: alone }, { origin: crowded }] = [await serve(stage), await serve(stage)]
    const readers = fork('bench/terminal-readers.ts', [crowded, String(OF_TOKEN), ...OWNERS], { execArgv: ['--import', 'tsx'] })
    try {
      await once(readers, 'message')
      for (const origin of [alone, crowded]) await render(origin, 't0-token')
      const [quiet, busy]: [Flood[], Flood[]] = [[], []]
      let characters = 0
      for (let round = 0; round < ROUNDS; round++) {
        quiet.push(await render(alone, 't0-token'))
        readers.send('busy')
        await sleep(1000)
        busy.push(await render(crowded, 't0-token'))
        readers.send('idle')
        const [read] = await once(readers, 'message') as [number]
        characters += read
        await sleep(1000)
      }
      const what = `${RATE} renders a second, beside ${TERMINALS} terminals that print, ${Math.round(characters / ROUNDS / 1024)} KiB a round`
      return [beside('terminals/renders-beside', 'p50', busy, quiet, what), beside('terminals/renders-beside', 'p99', busy, quiet, 'the same')]
    } finally {
      readers.kill()
    }
  })
}

/** Starts a service with a token for each owner of terminals. */
async function serve ({ folder, start }: Stage, server?: TestSshd): Promise<ServerProcess> {
  const place = await mkdtemp(join(folder, 'service-'))
  const at = (name: string): string => join(place, name)
  const { port = 0, user = '', hostKey = '', keyFile = '' } = server ?? {}
  const web = server === undefined ? {} : { web: { type: 'ssh', host: '127.0.0.1', port, user, hostKey, keyFile, terminal: true } }
  await mkdir(at('shop'))
  await writeFile(at('tokens'), OWNERS.map(name => tokenEntry(name, 'render+terminal')).join('\n'))
  await writeFile(at('operator.json'), JSON.stringify({ workspaces: { shop: { path: at('shop') } }, targets: { here: { type: 'local', workspace: 'shop', sandbox, terminal: true }, ...web } }))
  return await start('dist/main.js', { STORE_DIR: 'examples', PORT: '0', LOG_LEVEL: 'info', STATE_DIR: at('state'), OPERATOR_FILE: at('operator.json'), API_TOKENS_FILE: at('tokens'), ALLOW_ROOT: 'true' })
}

async function open (origin: string, owner: string, target: string): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${owner}-token` }
  const reply = await fetch(`${origin}/api/terminals`, { method: 'POST', headers, body: JSON.stringify({ target }) })
  if (reply.status !== 201) throw new Error(`a terminal was answered ${reply.status}: ${await reply.text()}`)
}

async function resident (pid: number): Promise<number> {
  const megabytes = await residentMegabytes(pid)
  if (megabytes === undefined) throw new Error('the memory of a process is read from /proc')
  return megabytes
}

/** Runs `work` beside an sshd; without one where none is installed. */
async function withSshd<T> (work: (server: TestSshd | undefined) => Promise<T>): Promise<T> {
  const server = noSshd === false ? await startOpenSsh() : undefined
  try {
    return await work(server)
  } finally {
    await server?.stop()
  }
}
