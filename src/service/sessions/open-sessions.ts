import { resolve } from 'node:path'
import { ANYONE } from '../../access/caller.ts'
import { type Owners } from '../../access/tokens.ts'
import { type Log } from '../../base/log.ts'
import { type Config } from '../../config/config.ts'
import { type OperatorFile } from '../../config/operator.ts'
import { ownFilesOf, refuseOwnFilesIn } from '../../config/own-files.ts'
import { Executors } from '../../exec/executors.ts'
import { type Workspaces } from '../../files/workspaces.ts'
import { type Generation } from '../../registry/generation.ts'
import { type Seals } from '../../session/seal.ts'
import { openSessionStore } from '../../session/store/open-session-store.ts'
import { type SessionStore } from '../../session/session-store.ts'
import { type ToolCaller } from '../../tool/call/tool-caller.ts'
import { type CountedModels } from '../chat/counted-models.ts'
import { type SessionObserver } from './perform/effect-activity.ts'
import { applyChangeIn } from './perform/apply-change.ts'
import { askModelWith } from './perform/ask-model.ts'
import { callRegisteredTool } from './perform/call-registered-tool.ts'
import { createPerformer } from './perform/perform-effect.ts'
import { readFrom } from './perform/read.ts'
import { readTargetOf } from './perform/read-target.ts'
import { readWorkspaceOf } from './perform/read-workspace.ts'
import { rememberIn } from './perform/remember.ts'
import { runCheckIn } from './perform/run-check.ts'
import { runCommandOn } from './perform/run-command.ts'
import { workspaceLocks } from './perform/workspace-locks.ts'
import { circumstancesOf } from './circumstances.ts'
import { hasOpenChanges, hasOpenSessions } from './left-behind.ts'
import { placeOf } from './session-place.ts'
import { logLinesTo } from './session-lines.ts'
import { Sessions } from './sessions.ts'
import { TraceFiles } from './trace/trace-files.ts'
import { Traces } from './trace/traces.ts'

export interface OpenSessionsOptions {
  readonly config: Config
  /** What sessions may reach. */
  readonly operator: OperatorFile
  readonly executors: Executors
  readonly seals: Seals
  readonly loadWorkspaces: () => Promise<Workspaces>
  readonly log: Log
  readonly models: CountedModels
  readonly tools: Pick<ToolCaller, 'call'>
  readonly registry: { readonly generation: Generation }
  /** @default everybody is anyone */
  readonly owners?: Owners | undefined
  readonly observer?: SessionObserver | undefined
  /** Whether what sessions log goes to the log. */
  readonly logsLines: boolean
}

/** The sessions of the service; nothing of them is opened before the first is used. */
export function openSessions ({ config, operator, executors, seals, loadWorkspaces, log, models, tools, registry, owners = { callerNamed: () => ANYONE, names: () => [ANYONE.name] }, observer, logsLines }: OpenSessionsOptions): Sessions {
  const place = placeOf(config)
  const writeLines = logLinesTo(log, config.LOG_VALUES)
  const lockOf = workspaceLocks()
  let store: Promise<SessionStore> | undefined
  const openStore = (): Promise<SessionStore> => (store ??= openSessionStore(place, { keep: config.SESSION_KEEP_MS, log }))
  let mending: Promise<void> | undefined
  const mend = async (): Promise<void> => {
    if (operator.workspaces.size > 0 && await hasOpenChanges(config.STATE_DIR)) await (mending ??= recover(loadWorkspaces, log))
  }
  const sessions: Sessions = new Sessions({
    async open () {
      void mend()
      const [opened, { ENGINES }] = await Promise.all([openStore(), import('../../engine/engines.ts')])
      return { store: opened, engines: ENGINES, seals }
    },
    async isAnyOpen () {
      // A store brings packages of its own: names in a folder are looked at without it.
      if (place.kind === 'memory' || (place.kind === 'directory' && !await hasOpenSessions(place.path))) return false
      return await (await openStore()).hasOpen()
    },
    mend,
    performer: createPerformer({
      performers: {
        llm: askModelWith(models),
        tool: callRegisteredTool(tools, registry),
        exec: runCommandOn(executors, operator, lockOf),
        check: runCheckIn(executors, operator, lockOf),
        read: readFrom({ target: readTargetOf(executors), workspace: readWorkspaceOf(loadWorkspaces) }),
        apply: applyChangeIn(loadWorkspaces, lockOf),
        remember: rememberIn(loadWorkspaces)
      },
      registry,
      callerNamed: name => owners.callerNamed(name),
      observer
    }),
    circumstances: circumstancesOf(operator),
    owners: () => owners.names(),
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
  const traceFiles = new TraceFiles(tracesOf(sessions, config), loadWorkspaces, log)
  return sessions
}

/** The traces of the plans among sessions. */
export function tracesOf (sessions: Sessions, { PAPAYU_TRACE_RAW: raw, LLM_BASE_URL: url }: Config): Traces {
  // Golden traces are shown to others, and name no host.
  return new Traces({ sessions, keepsRaw: raw === 1, provider: url.startsWith('builtin:') ? 'builtin' : 'openai-compatible' })
}

/** Gives the workspaces; a service of which nobody asks for one does not load what they need. */
export function workspacesOf (operator: OperatorFile, { STATE_DIR: folder }: Config): () => Promise<Workspaces> {
  const state = resolve(folder)
  let loading: Promise<Workspaces> | undefined
  return async () => await (loading ??= import('../../files/workspaces.ts').then(({ Workspaces: Loaded }) => new Loaded(operator, state)))
}

/** Brings to an end what an earlier process has begun to change, also where its session is never gone on with. */
async function recover (loadWorkspaces: () => Promise<Workspaces>, log: Log): Promise<void> {
  const warn = (workspace: string, { message }: Error): void => { log.warn({ workspace, reason: message }, 'a change of files that was begun could not be brought to an end') }
  await loadWorkspaces().then(workspaces => workspaces.recover(warn)).catch((error: Error) => { warn('', error) })
}

/** Runs commands where the operator lets them run; the service's own files are hidden from them. @throws ConfigError where they cannot be */
export function executorsOf (config: Config, operator: OperatorFile, log: Log): Executors {
  const place = placeOf(config)
  const { SSH_AUTH_SOCK: agent } = process.env
  const files = ownFilesOf(config, { sessions: place.kind === 'directory' ? place.path : undefined, operator, agent })
  refuseOwnFilesIn(operator, files)
  return new Executors({ operator, environment: process.env, hidden: files.filter(({ isPublic }) => !isPublic).map(({ path }) => path), mayRunAsRoot: config.ALLOW_ROOT, log })
}
