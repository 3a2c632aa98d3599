import { join, resolve } from 'node:path'
import { ANYONE } from '../../access/caller.ts'
import { RightsWatch } from '../../access/rights.ts'
import type { OwnerStore, Owners } from '../../access/token-table.ts'
import { type JsonObject, textOf } from '../../base/json.ts'
import type { Observer } from '../../observe/activity.ts'
import type { Tracer } from '../../observe/open-telemetry.ts'
import type { Log } from '../../runtime/telemetry.ts'
import type { Config } from '../../config/config.ts'
import type { OperatorFile, Target, Workspace } from '../../config/operator.ts'
import { ownFilesOf, refuseOwnFilesIn } from '../../config/service-files.ts'
import { Executors } from '../../exec/executors.ts'
import { Terminals } from '../../exec/terminal/terminals.ts'
import type { Workspaces } from '../../files/workspaces.ts'
import type { Generation } from '../../registry/generation.ts'
import { judgeCommit } from '../../session/command-rules.ts'
import type { PolicyContext } from '../../session/gate.ts'
import { type ApplyEffect, ENDED, type ExecEffect, type Start } from '../../session/model.ts'
import { SessionRunner } from '../../session/runner.ts'
import type { Seals } from '../../session/session-log.ts'
import { isWaiting, type OpenEffect, type Session } from '../../session/session.ts'
import { kindOf } from '../../session/store/session-index.ts'
import type { SessionStore } from '../../session/store/session-store.ts'
import type { ToolCaller } from '../../tool/tool-caller.ts'
import type { CountedModels } from '../chat/models.ts'
import type { Notices } from '../notices/notices.ts'
import type { LabelMoves } from '../label-moves.ts'
import { SessionService } from './session-service.ts'
import { type SessionKinds, startOfChild } from './kind-table.ts'
import { openShellsOn, runChecksIn, runCommandsIn, runCommandsOn } from './perform-commands.ts'
import { changeFilesIn, commitIn, readFilesOf, rememberIn, workspaceLocks } from './perform-files.ts'
import { askModelWith } from './perform-model.ts'
import { callToolsOf, countDecisions, createPerformer, isRepeatableTool, turnOf } from './performer.ts'
import { disksOf, hasOpenChanges, hasOpenSessions, openSessionStore, placeOf } from './session-storage.ts'
import { tellOfChange } from './approvals.ts'
import { followChildren, stopOrphan } from './session-tree.ts'
import { TerminalService } from './terminal-service.ts'
import { logLinesTo, Traces } from './traces.ts'

export interface SessionServices {
  readonly sessions: SessionService
  readonly terminals: TerminalService
  readonly traces: Traces
  readonly rights: RightsWatch
}

const EVERYBODY: Owners = { callerNamed: () => ANYONE, names: () => [ANYONE.name] }

/** The store and engines are opened only when a session is first used. */
export function openSessions ({
  config, operator, executors, seals, loadWorkspaces, log, models, tools, registry, kinds, labelMoves, owners = EVERYBODY, observer,
  logsLines, notices
}: {
  readonly config: Config
  readonly operator: OperatorFile
  readonly executors: Executors
  readonly seals: Seals
  readonly loadWorkspaces: () => Promise<Workspaces>
  readonly log: Log
  readonly models: CountedModels
  readonly tools: Pick<ToolCaller, 'call'>
  readonly registry: { readonly generation: Generation }
  readonly kinds: SessionKinds
  readonly labelMoves: Pick<LabelMoves, 'runTests' | 'moveLabel'>
  /** @default one anonymous caller, for a service without tokens */
  readonly owners?: Owners | undefined
  readonly observer?: Observer | undefined
  readonly logsLines: boolean
  readonly notices: Notices | undefined
}): SessionServices {
  const place = placeOf(config)
  const writeLines = logLinesTo(log, config.LOG_VALUES)
  const lockOf = workspaceLocks()
  const rights = new RightsWatch()
  let store: Promise<SessionStore> | undefined
  let opened: SessionStore | undefined
  const openStore = async (): Promise<SessionStore> => (opened = await (store ??= openOwnedStore()))
  const openOwnedStore = async (): Promise<SessionStore> => {
    const made = await openSessionStore(place, { keep: config.SESSION_KEEP_MS, log })
    await owners.attach?.(sealedOwners(made, seals))
    return made
  }
  let mending: Promise<void> | undefined
  const mend = async (): Promise<void> => {
    if (operator.workspaces.size > 0 && await hasOpenChanges(config.STATE_DIR)) await (mending ??= recover(loadWorkspaces, log))
  }
  let mended: Promise<void> | undefined
  const held = new Terminals()
  const circumstances = policyContextOf(operator, held)
  const [runOnTarget, runInTerminal] = [runCommandsOn(executors, operator, lockOf), runCommandsIn(held, circumstances.about)]
  const loadSession = async (id: string): Promise<Session | undefined> => await sessions.use(async ({ runner }) => await runner.load(id))
  /** By whoever writes the turn's last log entry, for all replicas that have worked on it. */
  const traceTurn = async (tracer: Tracer, session: Session): Promise<void> => {
    const turn = await turnOf(session, loadSession)
    const failed = session.status === 'completed' || session.status === 'waiting_input' ? undefined : session.problem?.code ?? session.status.toUpperCase()
    if (turn !== undefined) tracer.beginTurn(turn).end({ 'prompt_shell.session.status': session.status }, failed)
  }
  const performer = createPerformer({
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
      child: followChildren(
        async ({ session, effect, caller }, id) => await startOfChild(kinds, registry.generation, { parent: session, effect, caller, id }),
        async work => await sessions.use(work)
      ),
      tests: labelMoves.runTests,
      move: labelMoves.moveLabel
    },
    tools: { isRepeatableTool: tool => isRepeatableTool(registry.generation, tool) },
    callerNamed: name => owners.callerNamed(name),
    seek: async name => await owners.seek?.(name),
    rights,
    observer,
    load: loadSession,
    stopOrphan: async (session, signal) => await sessions.use(async opened => await stopOrphan(opened, session, signal))
  })
  const sessions: SessionService = new SessionService({
    async open () {
      void mend()
      const [{ ENGINES: engines }, store] = await Promise.all([import('../../engine/engines.ts'), openStore()])
      const runner = new SessionRunner({
        store,
        engines,
        seals,
        performer,
        terminals: held,
        disks: disksOf(config, operator),
        circumstances,
        log,
        concurrency: config.SESSION_CONCURRENCY === 0 ? undefined : config.SESSION_CONCURRENCY,
        concurrencyOf: owner => owners.callerNamed(owner)?.limits.running,
        around: notices && ((append, write) => notices.around(append, write, () => store.head(append.id))),
        onWritten (session, transition) {
          tellOfChange(store, session, transition)
          if (logsLines) writeLines(session, transition)
          if (observer !== undefined) countDecisions(observer.metrics, transition)
          const isTraced = config.PAPAYU_TRACE === 1 && (ENDED.has(session.status) || isWaiting(session))
          // With its first entry a session has done nothing yet.
          const tracer = transition.seq > 1 && session.turn.over === transition.seq ? observer?.tracer : undefined
          if (tracer === undefined) return isTraced ? traces.write(session) : undefined
          return Promise.all([traceTurn(tracer, session), isTraced ? traces.write(session) : undefined]).then(() => {})
        },
        onTakeover ({ start: { definition } }) {
          observer?.metrics.sessionsTakenOver.inc({ kind: observer.metrics.kinds.take(kindOf(definition)) })
        },
        onEnded (session) {
          log.info({ session: session.id, definition: session.start.definition, status: session.status, ...session.used, calls: undefined }, 'session ended')
          observer?.metrics.sessionsEnded.inc({ engine: session.start.engine, status: session.status })
        }
      })
      runner.open()
      return { store, engines, seals, runner }
    },
    async isAnyOpen () {
      void (mended ??= mend())
      // The file names in a folder of sessions tell whether any is open, without loading the store's packages.
      if (place.kind === 'memory' || (place.kind === 'directory' && !await hasOpenSessions(place.path))) return false
      return await (await openStore()).hasOpen()
    },
    storeProblem: () => opened?.problem(),
    async close () {
      await (await store?.catch(() => undefined))?.close()
      await executors.close()
    },
    rights,
    owners: () => owners.names()
  })
  const { PAPAYU_TRACE_RAW: raw, LLM_BASE_URL: url, REPLICA_URL: at } = config
  // A trace can be published as a test case, so it names the provider's type, and not its host.
  const provider = url.startsWith('builtin:') ? 'builtin' : 'openai-compatible'
  const traces = new Traces(sessions, loadWorkspaces, log, raw === 1, provider)
  const terminals = new TerminalService(sessions, held, operator, at, whyNoPtys)
  return { sessions, terminals, traces, rights }
}

/** Who can write to the store must not give an owner more rights: what is kept of owners has a seal, as logs have. */
function sealedOwners (store: SessionStore, seals: Seals): OwnerStore {
  // No session has such an id.
  const idOf = (name: string): string => `owner ${name}`
  return {
    keepOwner: (name, text) => store.keepOwner(name, text === undefined ? undefined : `${seals.sealOf(idOf(name), '', { seq: 0, text })} ${text}`),
    async keptOwners () {
      const kept = Array.from(await store.keptOwners(), ([name, sealed]) => {
        const end = sealed.indexOf(' ')
        return { name, seal: sealed.slice(0, end), text: sealed.slice(end + 1) }
      })
      return new Map(kept.filter(({ name, seal, text }) => seals.isGenuine(idOf(name), '', { seq: 0, text, seal })).map(({ name, text }) => [name, text]))
    }
  }
}

async function whyNoPtys (): Promise<string | undefined> {
  const { loadPtys, NO_PTYS } = await import('../../exec/local-pty.ts')
  return await loadPtys() === undefined ? NO_PTYS : undefined
}

function terminalFolder ({ STATE_DIR: folder }: Config): string {
  return join(resolve(folder), 'terminals')
}

/** Their code is loaded at the first call: most services need none. */
export function workspacesOf (operator: OperatorFile, { STATE_DIR: folder }: Config): () => Promise<Workspaces> {
  const state = resolve(folder)
  let loading: Promise<Workspaces> | undefined
  return async () => await (loading ??= import('../../files/workspaces.ts').then(({ Workspaces: Loaded }) => new Loaded(operator, state)))
}

/** What a crash has interrupted, also for sessions that nobody resumes. */
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

/** By the operator's file as it is now: a session that began under an earlier file gets no more than it allows. */
export function policyContextOf (
  { targets, workspaces, rules }: OperatorFile, terminals: Pick<Terminals, 'folderOf'> = { folderOf: () => undefined }
): PolicyContext {
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

function aboutCommand ({ cwd: given, terminal }: ExecEffect, target: Target | undefined, folderInTerminal: () => string): JsonObject {
  const cwd = terminal === undefined ? given : folderInTerminal()
  const unknown: JsonObject = cwd === '' ? { folderUnknown: true } : {}
  switch (target?.type) {
    case 'local': return { folder: cwd ?? target.workspace.path, ...unknown, sandbox: target.sandbox, network: target.hasNetwork }
    case 'ssh': return { host: target.host, port: target.port, user: target.user, folder: cwd ?? target.cwd ?? '~', ...unknown }
    default: return {}
  }
}

/** If this process does not have the terminal open, the folder that was shown when approval was asked. */
function folderIn ({ terminal = '' }: ExecEffect, terminals: Pick<Terminals, 'folderOf'>, open: OpenEffect | undefined): string {
  const shown = open?.question?.about['folder']
  return terminals.folderOf(terminal) ?? textOf(shown)
}

function aboutChange ({ change }: ApplyEffect, { setting }: Start, workspace: Workspace | undefined): JsonObject {
  const { checks = [] } = setting as { readonly checks?: readonly string[] } | null ?? {}
  return Object.hasOwn(change, 'do') ? { checks: checks.map(name => ({ name, command: workspace?.checks.get(name) ?? '' })) } : {}
}
