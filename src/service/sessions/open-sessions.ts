import { join, resolve } from 'node:path'
import { ANYONE } from '../../access/caller.ts'
import { RightsWatch } from '../../access/rights.ts'
import type { Owners } from '../../access/token-table.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Log } from '../../runtime/telemetry.ts'
import type { Config } from '../../config/config.ts'
import type { OperatorFile, Target, Workspace } from '../../config/operator.ts'
import { ownFilesOf, refuseOwnFilesIn } from '../../config/service-files.ts'
import { PLAN } from '../../engine/plan/state.ts'
import { Executors } from '../../exec/executors.ts'
import { Terminals } from '../../exec/terminal/terminals.ts'
import type { Workspaces } from '../../files/workspaces.ts'
import type { Generation } from '../../registry/generation.ts'
import { type Circumstances, judgeCommit } from '../../session/gate.ts'
import type { ApplyEffect, ExecEffect, Start } from '../../session/model.ts'
import type { Seals } from '../../session/session-log.ts'
import type { OpenEffect } from '../../session/session.ts'
import { openSessionStore } from '../../session/store/open-session-store.ts'
import type { SessionStore } from '../../session/store/session-store.ts'
import type { ToolCaller } from '../../tool/tool-caller.ts'
import type { CountedModels } from '../chat/models.ts'
import { Approvals } from './approvals.ts'
import { SessionDoor } from './door.ts'
import { type SessionKinds, startOfChild } from './kind-table.ts'
import { followChildren, stopOrphan } from './perform-children.ts'
import { openShellsOn, runChecksIn, runCommandsIn, runCommandsOn } from './perform-commands.ts'
import { changeFilesIn, commitIn, readFilesOf, rememberIn, workspaceLocks } from './perform-files.ts'
import { askModelWith } from './perform-model.ts'
import { callToolsOf, createPerformer, isRepeatableTool, type SessionObserver } from './performer.ts'
import { RunningSessions } from './running-sessions.ts'
import { disksOf, hasOpenChanges, hasOpenSessions, placeOf } from './session-storage.ts'
import { Sessions, SessionStarts } from './sessions.ts'
import { TerminalDoor } from './terminal-door.ts'
import { logLinesTo } from './trace.ts'
import { type SessionLogs, TraceFiles, Traces } from './traces.ts'

export interface OpenSessionsOptions {
  readonly config: Config
  /** The operator's file: the targets (machines) and workspaces (folders) that sessions are allowed to use, and the rules for commands. */
  readonly operator: OperatorFile
  readonly executors: Executors
  readonly seals: Seals
  readonly loadWorkspaces: () => Promise<Workspaces>
  readonly log: Log
  readonly models: CountedModels
  readonly tools: Pick<ToolCaller, 'call'>
  readonly registry: { readonly generation: Generation }
  /** The kinds of sessions (agents, skills, plans). A session can start others of these kinds as its children. */
  readonly kinds: SessionKinds
  /** The callers who can own sessions, by name. @default one anonymous caller, for a service without tokens */
  readonly owners?: Owners | undefined
  readonly observer?: SessionObserver | undefined
  /** Whether the lines that sessions log are written to the service's log, too. */
  readonly logsLines: boolean
}

/** The sessions of the service, and everything by which callers reach them. */
export interface SessionServices {
  readonly running: RunningSessions
  readonly sessions: Sessions
  readonly sessionStarts: SessionStarts
  readonly approvals: Approvals
  readonly door: SessionDoor
  readonly terminals: TerminalDoor
  readonly traces: Traces
  /** Ends what stays open for a caller whose token does not allow it any more. */
  readonly rights: RightsWatch
}

/**
 * Makes the objects by which callers reach sessions, except those for terminals and traces.
 * @param owners gives the names of all callers who can own sessions
 */
export function waysTo (running: RunningSessions, owners: () => readonly string[], rights = new RightsWatch()): Omit<SessionServices, 'terminals' | 'traces'> {
  const [sessions, starts, approvals] = [new Sessions(running, rights), new SessionStarts(running), new Approvals(running, owners)]
  return { running, rights, sessions, sessionStarts: starts, approvals, door: new SessionDoor({ running, sessions, starts, approvals }) }
}

/** The owners of sessions in a service without tokens: one anonymous caller. */
const EVERYBODY: Owners = { callerNamed: () => ANYONE, names: () => [ANYONE.name] }

/** Sets up the sessions of the service. Their store and engines are opened only when a session is first used. */
export function openSessions (options: OpenSessionsOptions): SessionServices {
  const { config, operator, executors, seals, loadWorkspaces, log, models, tools, registry, kinds, owners = EVERYBODY, observer, logsLines } = options
  const place = placeOf(config)
  const writeLines = logLinesTo(log, config.LOG_VALUES)
  const lockOf = workspaceLocks()
  const rights = new RightsWatch()
  let store: Promise<SessionStore> | undefined
  let opened: SessionStore | undefined
  const openStore = async (): Promise<SessionStore> => (opened = await (store ??= openSessionStore(place, { keep: config.SESSION_KEEP_MS, log })))
  let mending: Promise<void> | undefined
  const mend = async (): Promise<void> => {
    if (operator.workspaces.size > 0 && await hasOpenChanges(config.STATE_DIR)) await (mending ??= recover(loadWorkspaces, log))
  }
  const held = new Terminals()
  const circumstances = circumstancesOf(operator, held)
  const [runOnTarget, runInTerminal] = [runCommandsOn(executors, operator, lockOf), runCommandsIn(held, circumstances.about)]
  const running: RunningSessions = new RunningSessions({
    terminals: held,
    disks: disksOf(config, operator),
    async open () {
      void mend()
      const [{ ENGINES }] = await Promise.all([import('../../engine/engines.ts'), openStore()])
      return { store: await openStore(), engines: ENGINES, seals }
    },
    async isAnyOpen () {
      // Loading the store's packages is avoided: the file names in a folder of sessions tell whether any is open.
      if (place.kind === 'memory' || (place.kind === 'directory' && !await hasOpenSessions(place.path))) return false
      return await (await openStore()).hasOpen()
    },
    storeProblem: () => opened?.problem(),
    mend,
    performer: createPerformer({
      performers: {
        llm: askModelWith(models),
        tool: callToolsOf(registry, tools),
        exec: performing => performing.effect.terminal === undefined ? runOnTarget(performing) : runInTerminal(performing),
        shell: openShellsOn({
          executors,
          operator,
          terminals: held,
          folder: terminalFolder(config),
          onIdle: session => { void terminals.expire(session).catch(() => {}) },
          stop: (session, reason) => terminals.stop(session, reason)
        }),
        check: runChecksIn(executors, operator, lockOf),
        read: readFilesOf(executors, loadWorkspaces),
        commit: commitIn(executors, operator, lockOf),
        apply: changeFilesIn(loadWorkspaces, lockOf),
        remember: rememberIn(loadWorkspaces),
        child: followChildren({
          startOf: async ({ session, effect, caller }, id) => await startOfChild(kinds, registry.generation, { parent: session, effect, caller, id }),
          use: async work => await running.use(work)
        })
      },
      tools: { isRepeatableTool: tool => isRepeatableTool(registry.generation, tool) },
      callerNamed: name => owners.callerNamed(name),
      rights,
      observer,
      stopOrphan: async (session, signal) => await running.use(async opened => await stopOrphan(opened, session, signal))
    }),
    circumstances,
    async close () {
      await (await store?.catch(() => undefined))?.close()
      await executors.close()
    },
    log,
    onWritten (session, transition) {
      if (logsLines) writeLines(session, transition)
      observer?.wrote(transition)
    },
    onEnded (session) {
      log.info({ session: session.id, definition: session.start.definition, status: session.status, ...session.used, calls: undefined }, 'session ended')
      observer?.ended(session)
    },
    onSettled: config.PAPAYU_TRACE === 1 ? session => traceFiles.write(session) : undefined
  })
  const ways = waysTo(running, () => owners.names(), rights)
  const traces = tracesOf(ways, config)
  const traceFiles = new TraceFiles(traces, loadWorkspaces, log)
  const terminals = new TerminalDoor({ running, starts: ways.sessionStarts, terminals: held, operator, at: config.REPLICA_URL, whyNoPtys })
  return { ...ways, terminals, traces }
}

/** The reason why this machine can open no terminals; `undefined` if it can. The package for terminals is loaded here, at first use. */
async function whyNoPtys (): Promise<string | undefined> {
  const { loadPtys, NO_PTYS } = await import('../../exec/local-pty.ts')
  return await loadPtys() === undefined ? NO_PTYS : undefined
}

/** The folder in which files and recordings of terminals are kept. */
function terminalFolder ({ STATE_DIR: folder }: Config): string {
  return join(resolve(folder), 'terminals')
}

/** Makes the traces of plans: records of what a plan has read, asked and changed. */
function tracesOf ({ sessions, door }: Pick<SessionServices, 'sessions' | 'door'>, { PAPAYU_TRACE_RAW: raw, LLM_BASE_URL: url }: Config): Traces {
  const logs: SessionLogs = {
    get: (caller, id) => door.get({ engines: [PLAN] }, caller, id),
    list: (caller, query) => sessions.list(caller, query),
    transitions: (caller, id) => sessions.transitions(caller, id)
  }
  // A trace can be published as a test case ("golden"), so it names the type of the model's provider, and not the provider's host.
  return new Traces({ logs, keepsRaw: raw === 1, provider: url.startsWith('builtin:') ? 'builtin' : 'openai-compatible' })
}

/** Makes a function that gives the workspaces (folders whose files plans change). Their code is loaded at its first call: most services need none. */
export function workspacesOf (operator: OperatorFile, { STATE_DIR: folder }: Config): () => Promise<Workspaces> {
  const state = resolve(folder)
  let loading: Promise<Workspaces> | undefined
  return async () => await (loading ??= import('../../files/workspaces.ts').then(({ Workspaces: Loaded }) => new Loaded(operator, state)))
}

/** Finishes or undoes changes of files that a crash has interrupted, also for sessions that nobody resumes. */
async function recover (loadWorkspaces: () => Promise<Workspaces>, log: Log): Promise<void> {
  const warn = (workspace: string, { message }: Error): void => {
    log.warn({ workspace, reason: message }, 'a change of files that was begun could not be brought to an end')
  }
  await loadWorkspaces().then(workspaces => workspaces.recover(warn)).catch((error: Error) => { warn('', error) })
}

/**
 * Makes the executors, which run commands on the operator's targets (machines). No command in a sandbox sees the service's own files.
 * @throws ConfigError when a workspace, or what commands can read beside it, contains one of these files
 */
export function executorsOf (config: Config, operator: OperatorFile, log: Log): Executors {
  const place = placeOf(config)
  const { SSH_AUTH_SOCK: agent } = process.env
  const files = ownFilesOf(config, { sessions: place.kind === 'directory' ? place.path : undefined, operator, agent })
  refuseOwnFilesIn(operator, files)
  if (operator.workspaces.size > 0 && !config.ALLOW_ROOT && process.getuid?.() === 0) {
    log.warn({}, 'this service runs as root, and so runs no command or check of OPERATOR_FILE here: run it as another user, or set ALLOW_ROOT=true')
  }
  const secrets = files.filter(({ isPublic }) => !isPublic).map(({ path }) => path)
  return new Executors({ operator, environment: process.env, secrets, mayRunAsRoot: config.ALLOW_ROOT, terminals: terminalFolder(config), log })
}

/** Gives the current folder of the shell in a terminal that this process has open, `''` where nobody knows it. */
interface TerminalFolders {
  folderOf (terminal: string): string | undefined
}

/**
 * Makes the checks of what sessions are allowed to do. The operator's file decides that, as it is now: a session that began under an earlier
 * file gets no more than the present file allows.
 */
export function circumstancesOf ({ targets, workspaces, rules }: OperatorFile, terminals: TerminalFolders = { folderOf: () => undefined }): Circumstances {
  return {
    commands: ({ target }) => ({ rules, isAuto: targets.get(target)?.mayRunUnasked === true }),
    commits ({ workspace: name }) {
      if (workspaces.get(name)?.mayCommit !== true) return { answer: 'deny', by: 'policy', reason: `the operator allows no commits in "${name}"` }
      return judgeCommit([...targets.values()].filter(target => target.type === 'local' && target.workspace.name === name).map(target => target.name), rules)
    },
    about ({ start, open }, effect) {
      if (effect.kind === 'exec') return aboutCommand(effect, targets.get(effect.target), () => folderIn(effect, terminals, open.get(effect.id)))
      return effect.kind === 'apply' ? aboutChange(effect, start, workspaces.get(effect.workspace)) : {}
    }
  }
}

/** What a person is shown about a command before allowing it: the folder or machine on which it would run, the sandbox, the network. */
function aboutCommand ({ cwd: given, terminal }: ExecEffect, target: Target | undefined, folderInTerminal: () => string): JsonObject {
  const cwd = terminal === undefined ? given : folderInTerminal()
  const unknown = cwd === '' ? { folderUnknown: true } : {}
  switch (target?.type) {
    case 'local': return { folder: cwd ?? target.workspace.path, ...unknown, sandbox: target.sandbox, network: target.hasNetwork }
    case 'ssh': return { host: target.host, port: target.port, user: target.user, folder: cwd ?? target.cwd ?? '~', ...unknown }
    default: return {}
  }
}

/**
 * The folder in which a command in a terminal would begin. If this process does not have the terminal open, it is the folder that was shown when
 * approval was asked.
 */
function folderIn ({ terminal = '' }: ExecEffect, terminals: TerminalFolders, open: OpenEffect | undefined): string {
  const shown = open?.question?.about['folder']
  return terminals.folderOf(terminal) ?? (typeof shown === 'string' ? shown : '')
}

/** What a person is shown about a change of files before allowing it: the checks that run after it, with their commands. */
function aboutChange ({ change }: ApplyEffect, { setting }: Start, workspace: Workspace | undefined): JsonObject {
  const { checks = [] } = setting as { readonly checks?: readonly string[] } | null ?? {}
  return Object.hasOwn(change, 'do') ? { checks: checks.map(name => ({ name, command: workspace?.checks.get(name) ?? '' })) } : {}
}
