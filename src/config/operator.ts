import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { isLabel } from '../registry/kinds/release-record.ts'
import { parseCheckedYaml } from '../schema/checked-yaml.ts'
import { isLoopback } from './config.ts'
import { configSchema } from './config-schema.ts'

/** No registered entry, no request and no model can name a path, a host or a command that `OPERATOR_FILE` does not offer. */
export interface OperatorFile {
  readonly workspaces: ReadonlyMap<string, Workspace>
  readonly targets: ReadonlyMap<string, Target>
  readonly rules: readonly OperatorRule[]
  /** @default none */
  readonly budgets?: readonly Budget[]
  /** @default none */
  readonly identities?: readonly IdentityRow[]
  readonly notices?: readonly NoticeReceiver[]
  /** By label. @default none */
  readonly labels?: ReadonlyMap<string, LabelRule>
}

export const NOTICE_KINDS = [
  'approval.waiting', 'approval.expired', 'session.failed', 'session.ended', 'label.moved', 'entry.unusable', 'store.lost', 'store.back', 'budget.low', 'budget.used'
] as const

export type NoticeKind = typeof NOTICE_KINDS[number]

/** Whoever is told of what happens, over HTTP. */
export interface NoticeReceiver {
  readonly name: string
  /** Of Slack's kind, it is a secret. */
  readonly url: string
  readonly format: 'standard' | 'slack'
  /** Each signs, so that a receiver can change to a new one. */
  readonly secrets: readonly Buffer[]
  readonly kinds: readonly NoticeKind[]
  /** Names of API tokens, and patterns of prompts and definitions; `undefined` for all. */
  readonly owners: readonly string[] | undefined
  readonly definitions: readonly string[] | undefined
  /** Absolute paths of what it was read from. */
  readonly files: readonly string[]
}

/** What a claim of a provider's JWT gives its holder. */
export interface IdentityRow {
  /** Such as `groups`, `sub`, or `realm_access.roles`. */
  readonly claim: string
  /** The claim is it, or a list with it. */
  readonly value: string
  /** As in a line of `API_TOKENS`, without name and hash: `read+render:prompts=team.*`. */
  readonly gives: string
}

/** What a change of a prompt's label needs. */
export interface LabelRule {
  /** Whether the stored tests of the version have to pass. */
  readonly tests: boolean
  /** How many others than the author have to agree. */
  readonly approvals: number
}

/** A bound on what some calls of models use in a day or a month, in UTC. */
export interface Budget {
  readonly name: string
  /** Names of API tokens; `undefined` for all callers together. */
  readonly tokens: readonly string[] | undefined
  /** Prompts and definitions, such as `agents.helper`; `undefined` for all. */
  readonly prompts: readonly string[] | undefined
  readonly period: 'day' | 'month'
  readonly unit: 'usd' | 'tokens'
  /** In billionths of a USD, or in tokens. */
  readonly most: number
}

export interface Workspace {
  readonly name: string
  /** Absolute; it existed when the service started. */
  readonly path: string
  /** Whether callers may start skills that lie in the folder (`.agents/skills`, …). */
  readonly hasSkills: boolean
  /** Outside of the folder, for commands in a sandbox: toolchains, mostly. @default none */
  readonly readable?: readonly string[]
  readonly checks: ReadonlyMap<string, string>
  /** By name; each path is relative to the folder, and lies below it. */
  readonly logs: ReadonlyMap<string, string>
  /** Beyond what every plan can change: `Procfile`, `*.go`. @default none */
  readonly mayChange?: readonly string[]
  /** Before a plan writes; a plan profile and a request can ask for more. */
  readonly confirm: 'diff' | 'deletions' | 'none'
  /** The rules for the command `git commit` apply, too. */
  readonly mayCommit: boolean
  /** If several processes share the folder and `STATE_DIR`. @default the disk is of the processes with this `STATE_DIR` */
  readonly disk?: string
}

export type Target = LocalTarget | SshTarget

interface TerminalOffer {
  /** For callers with the role `terminal`, who can type anything into it. @default false */
  readonly mayOpenTerminal?: boolean
  /** @default false */
  readonly isRecorded?: boolean
}

export interface LocalTarget extends TerminalOffer {
  readonly type: 'local'
  readonly name: string
  /** Commands begin in it, and cannot leave it. */
  readonly workspace: Workspace
  /** `auto`: if bubblewrap works on this machine. `required`: without it no command runs. */
  readonly sandbox: 'auto' | 'required' | 'off'
  readonly hasNetwork: boolean
  readonly mayRunUnasked: boolean
  readonly environment: readonly string[]
}

export interface SshTarget extends TerminalOffer {
  readonly type: 'ssh'
  readonly name: string
  readonly host: string
  readonly port: number
  readonly user: string
  /** `SHA256:…`, as `ssh-keygen -l` prints it; required, because no host is trusted on first use. */
  readonly hostKey: string
  /** An absolute path; without it the SSH agent of `SSH_AUTH_SOCK` is asked. */
  readonly keyFile?: string
  /** Without it, the home of the user. */
  readonly cwd?: string
  readonly hasSkills: boolean
  readonly mayRunUnasked: boolean
}

/** Where several rules match, deny goes before ask, and ask before allow. */
interface OperatorRule {
  readonly effect: 'allow' | 'ask' | 'deny'
  /** Words, with `*` for any characters of a word; as the last word, `*` stands for any further words, or none. */
  readonly command: string
  /** @default all */
  readonly targets?: readonly string[]
}

/** Without an `OPERATOR_FILE`, sessions can reach nothing. */
export const NOTHING_OFFERED: OperatorFile = { workspaces: new Map(), targets: new Map(), rules: [] }

/** In bytes. */
const MAX_BYTES = 1024 * 1024

const HALF_STAR = /[^ \t]\*[ \t]*$/

interface OperatorDocument {
  readonly workspaces?: Readonly<Record<string, WorkspaceEntry>>
  readonly targets?: Readonly<Record<string, LocalTargetEntry | SshEntry>>
  readonly policy?: ReadonlyArray<OperatorRule & { readonly on: 'exec' }>
  readonly budgets?: Readonly<Record<string, BudgetEntry>>
  readonly identities?: readonly IdentityRow[]
  readonly notices?: Readonly<Record<string, NoticeEntry>>
  readonly labels?: Readonly<Record<string, { readonly tests?: 'pass', readonly approvals?: number }>>
}

interface NoticeEntry extends Partial<Pick<NoticeReceiver, 'url' | 'format' | 'kinds' | 'owners' | 'definitions'>> {
  readonly urlFile?: string
  readonly secretFile?: string
}

interface BudgetEntry extends Partial<Record<Budget['period'], Partial<Record<Budget['unit'], number>>>> {
  readonly tokens?: readonly string[]
  readonly prompts?: readonly string[]
}

interface WorkspaceEntry {
  readonly path: string
  readonly readable?: readonly string[]
  readonly skills?: boolean
  readonly checks?: Readonly<Record<string, string>>
  readonly logs?: Readonly<Record<string, string>>
  readonly mayChange?: readonly string[]
  readonly confirm?: Workspace['confirm']
  readonly commit?: boolean
  readonly disk?: string
}

interface TerminalEntry {
  readonly terminal?: boolean
  readonly record?: boolean
}

interface LocalTargetEntry extends TerminalEntry {
  readonly type: 'local'
  readonly workspace: string
  readonly sandbox?: LocalTarget['sandbox']
  readonly auto?: boolean
  readonly network?: boolean
  readonly environment?: readonly string[]
}

interface SshEntry extends TerminalEntry, Pick<SshTarget, 'type' | 'host' | 'user' | 'hostKey'> {
  readonly port?: number
  readonly keyFile?: string
  readonly cwd?: string
  readonly skills?: boolean
  readonly auto?: boolean
}

type Refuse = (path: ReadonlyArray<string | number>, expected: string, got: string) => Error

/** @throws Error that names the file and the line */
export function readOperator (path: string): OperatorFile {
  try {
    const { size } = statSync(path)
    if (size > MAX_BYTES) throw new Error(`expected at most ${MAX_BYTES} bytes, got ${size}`)
    return parseOperator(readFileSync(path, 'utf8'), dirname(resolve(path)))
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`)
  }
}

/** YAML or JSON; relative paths start from `base`, and named folders and keys must exist. @throws Error that names the line */
export function parseOperator (text: string, base: string): OperatorFile {
  const checked = parseCheckedYaml(text, 'operator', 'operator')
  const refuse: Refuse = (path, expected, got) =>
    new Error(`line ${checked.lineOf(path)}: ${path.join('.')}: expected ${expected}, got ${JSON.stringify(got)}`)
  const document = checked.value as unknown as OperatorDocument | null
  const workspaces = new Map(Object.entries(document?.workspaces ?? {}).map(([name, entry]) => [name, workspaceOf(name, entry, base, refuse)]))
  const targets = new Map(Object.entries(document?.targets ?? {}).map(([name, entry]) => [name, targetOf(name, entry, { base, workspaces, refuse })]))
  const rules = (document?.policy ?? []).map(({ effect, command, targets: names }, index) => {
    const unknown = names?.findIndex(name => !targets.has(name)) ?? -1
    if (unknown >= 0) throw refuse(['policy', index, 'targets', unknown], 'the name of a target', names?.[unknown] ?? '')
    // `push*` matches one word only; most who write it mean all that follow, and would get a rule that denies less than it seems to.
    if (HALF_STAR.test(command)) {
      throw refuse(['policy', index, 'command'], 'a last word without a star at its end, or a star as a word of its own behind it', command)
    }
    return { effect, command, ...(names === undefined ? {} : { targets: names }) }
  })
  const budgets = Object.entries(document?.budgets ?? {}).flatMap(([name, entry]) => budgetsOf(name, entry))
  const notices = Object.entries(document?.notices ?? {}).map(([name, entry]) => receiverOf(name, entry, base, refuse))
  const wrong = Object.keys(document?.labels ?? {}).find(label => !isLabel(label))
  if (wrong !== undefined) throw refuse(['labels', wrong], 'a name of a label, and not latest', wrong)
  const labels = new Map(Object.entries(document?.labels ?? {}).map(([label, { tests, approvals = 0 }]) => [label, { tests: tests === 'pass', approvals }]))
  return { workspaces, targets, rules, budgets, identities: document?.identities ?? [], notices, labels }
}

/** No message shows what follows the host of an address, or what a file holds. */
function receiverOf (
  name: string, { url: given, urlFile, secretFile, format = 'standard', kinds = NOTICE_KINDS, owners, definitions }: NoticeEntry, base: string, refuse: Refuse
): NoticeReceiver {
  const read = (member: string, file: string): string => {
    try {
      return readFileSync(resolve(base, file), 'utf8').trim()
    } catch (error) {
      throw refuse(['notices', name, member], `a file that can be read (${(error as NodeJS.ErrnoException).code ?? 'it is none'})`, file)
    }
  }
  const url = given ?? read('urlFile', urlFile ?? '')
  const { protocol, hostname, username, password, hash, origin } = new URL(URL.canParse(url) ? url : 'none:')
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')))
  if (!isSafe || `${username}${password}${hash}` !== '') {
    const member = given === undefined ? 'urlFile' : 'url'
    throw refuse(['notices', name, member], 'an https address without credentials, or an http one of this machine', urlFile ?? origin)
  }
  const secrets = (secretFile === undefined ? '' : read('secretFile', secretFile)).split(/\s+/).filter(secret => secret !== '').map(secret => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    // https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme
    if (key.length >= 24 && key.length <= 64) return key
    throw refuse(['notices', name, 'secretFile'], 'secrets of 24 to 64 bytes, such as whsec_ and what openssl rand -base64 32 prints', secretFile ?? '')
  })
  if (format === 'standard' && secrets.length === 0) throw refuse(['notices', name, 'secretFile'], 'a file with a secret', secretFile ?? '')
  const files = [urlFile, secretFile].flatMap(file => file === undefined ? [] : [resolve(base, file)])
  return { name, url, format, secrets, kinds, owners, definitions, files }
}

function budgetsOf (name: string, { tokens, prompts, ...periods }: BudgetEntry): Budget[] {
  return (['day', 'month'] as const).flatMap(period => (['usd', 'tokens'] as const).flatMap(unit => {
    const most = periods[period]?.[unit]
    return most === undefined ? [] : [{ name, tokens, prompts, period, unit, most: unit === 'usd' ? Math.round(most * 1e9) : most }]
  }))
}

function workspaceOf (
  name: string,
  { path, readable = [], skills = false, checks = {}, logs = {}, mayChange, confirm = 'deletions', commit = false, disk }: WorkspaceEntry,
  base: string,
  refuse: Refuse
): Workspace {
  const place = ['workspaces', name]
  const folder = resolve(base, path)
  if (found(folder)?.isDirectory() !== true) throw refuse([...place, 'path'], 'a folder that is there', path)
  // Without symbolic links, its beginning shows whether another path lies inside.
  const root = realpathSync(folder)
  for (const [log, file] of Object.entries(logs)) {
    if (!isBelow(root, resolve(root, file))) throw refuse([...place, 'logs', log], 'a file below the workspace', file)
  }
  for (const [index, shown] of readable.entries()) {
    const real = found(resolve(base, shown)) === undefined ? undefined : realpathSync(resolve(base, shown))
    if (real === undefined) throw refuse([...place, 'readable', index], 'a file or folder that is there', shown)
    // Processes outside of the sandbox, and devices.
    if (/^\/(?:$|(?:proc|dev)(?:\/|$))/.test(real)) throw refuse([...place, 'readable', index], 'a path that is not all, and none below /proc or /dev', shown)
  }
  return {
    name,
    path: root,
    hasSkills: skills,
    checks: new Map(Object.entries(checks)),
    logs: new Map(Object.entries(logs).map(([log, file]) => [log, relative(root, resolve(root, file))])),
    confirm,
    mayCommit: commit,
    ...(disk === undefined ? {} : { disk }),
    ...(readable.length === 0 ? {} : { readable: readable.map(shown => resolve(base, shown)) }),
    ...(mayChange === undefined ? {} : { mayChange })
  }
}

function targetOf (name: string, entry: LocalTargetEntry | SshEntry, { base, workspaces, refuse }: {
  readonly base: string
  readonly workspaces: ReadonlyMap<string, Workspace>
  readonly refuse: Refuse
}): Target {
  const place = ['targets', name]
  // A skill is started with the name of a target or the id of a terminal, so a name must not look like an id.
  if (/^[0-9a-f]{32}$/.test(name)) throw refuse(place, 'a name that is no id of a terminal', name)
  const terminals = { mayOpenTerminal: entry.terminal === true, isRecorded: entry.record === true }
  if (entry.type === 'local') {
    const { workspace: wanted, sandbox = 'auto', auto = false, network = false, environment = [] } = entry
    const workspace = workspaces.get(wanted)
    if (workspace === undefined) throw refuse([...place, 'workspace'], 'the name of a workspace', wanted)
    const own = environment.findIndex(isOfTheService)
    if (own >= 0) throw refuse([...place, 'environment', own], 'a variable that is none of the service\'s own', environment[own] ?? '')
    return { type: 'local', name, workspace, sandbox, hasNetwork: network, mayRunUnasked: auto, environment, ...terminals }
  }
  const { type, host, port = 22, user, hostKey, keyFile, cwd, skills = false, auto = false } = entry
  const key = keyFile === undefined ? undefined : resolve(base, keyFile)
  if (key !== undefined && found(key)?.isFile() !== true) throw refuse([...place, 'keyFile'], 'a file that is there', keyFile ?? '')
  return {
    type,
    name,
    host,
    port,
    user,
    hostKey,
    ...(key === undefined ? {} : { keyFile: key }),
    ...(cwd === undefined ? {} : { cwd }),
    hasSkills: skills,
    mayRunUnasked: auto,
    ...terminals
  }
}

/** Its value can be a secret, so commands must not get it. */
function isOfTheService (variable: string): boolean {
  return Object.hasOwn(configSchema.properties, variable) || variable.startsWith('TOOL_SECRET_')
}

function found (path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function isBelow (root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
