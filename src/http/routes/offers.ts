import type { Caller } from '../../access/caller.ts'
import type { JsonObject } from '../../base/json.ts'
import { type Static, Type } from '../../schema/builder.ts'
import { beginningOf } from '../../base/text.ts'
import type { Target, Workspace } from '../../config/operator.ts'
import type { Generation } from '../../registry/generation.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { type SkillDefinition, skillKind } from '../../registry/kinds/skill-kind.ts'
import { type ForeignSkill, type ForeignSkillList, hasSkills, type Offers } from '../../service/sessions/offers.ts'
import type { App } from '../app.ts'
import { oneOf } from '../schemas.ts'

const Source = oneOf(['project', 'remote'], { description: 'Where it stands: in the project of the target, or in the home of its user there' })

/** In UTF-16 units; and the most parameters of one skill. */
const MAX_TEXT = 1024
const MAX_PARAMS = 50

const SkillRow = Type.Object({
  id: Type.String({ description: '`skillId` of a start' }),
  name: Type.String(),
  description: Type.String(),
  params: Type.Array(Type.Object({ name: Type.String(), description: Type.String(), required: Type.Boolean() })),
  path: Type.String({ description: '`skillPath` of a start' }),
  source: Source,
  target: Type.String()
})

const SkillsOfTarget = Type.Object({
  skills: Type.Array(SkillRow),
  problems: Type.Array(Type.Object({ target: Type.String(), path: Type.Optional(Type.String()), source: Type.Optional(Source), reason: Type.String() }), { description: 'What is not offered, and why' })
})

function describeForeign ({ skills, problems }: ForeignSkillList): Static<typeof SkillsOfTarget> {
  return { skills: skills.map(describeOne), problems: [...problems] }
}

export function catalogueOf (generation: Generation, foreign: ForeignSkillList): JsonObject {
  const all = definitionsOf(generation, skillKind).values()
  const registered = Array.from(all, skill => ({ ...wordsOf(skill), id: skill.id, path: skill.id, source: 'project' }))
  const { skills, problems } = describeForeign(foreign)
  return { skills: [...registered, ...skills], problems }
}

function describeOne ({ target, place: { name, path, source }, skill }: ForeignSkill): Static<typeof SkillRow> {
  return { ...wordsOf(skill), id: name, path, source, target }
}

function wordsOf ({ name, description, options }: SkillDefinition) {
  // A skill in a project's file was never checked against a schema, so its size is bounded here.
  const params = options.params.slice(0, MAX_PARAMS).map(param => ({ ...param, ...bounded(param) }))
  return { ...bounded({ name, description }), params }
}

function bounded ({ name, description }: { readonly name: string, readonly description: string }) {
  return { name: beginningOf(name, MAX_TEXT), description: beginningOf(description, MAX_TEXT) }
}

const TargetReply = Type.Object({
  name: Type.String({ description: '`terminalSessionId` of a skill' }),
  type: oneOf(['local', 'ssh']),
  auto: Type.Boolean({ description: 'Whether commands may run unasked' }),
  skills: Type.Boolean({ description: 'Whether skills that stand on it may be started' }),
  terminal: Type.Boolean({ description: 'Whether terminals may be opened on it, by whoever has the role `terminal`' }),
  workspace: Type.Optional(Type.String({ description: 'Local: whose files commands see' })),
  sandbox: Type.Optional(oneOf(['auto', 'required', 'off'], { description: 'Local: whether commands run in one' })),
  network: Type.Optional(Type.Boolean({ description: 'Local: whether sandboxed commands reach the network' })),
  host: Type.Optional(Type.String({ description: 'SSH, for the role `approve`' })),
  port: Type.Optional(Type.Integer({ description: 'Likewise' })),
  user: Type.Optional(Type.String({ description: 'Likewise' }))
})

const WorkspaceReply = Type.Object({
  name: Type.String({ description: '`workspace` of a plan' }),
  skills: Type.Boolean({ description: 'Whether the skills in it may be started' }),
  checks: Type.Array(Type.String(), { description: 'Names of its checks' }),
  logs: Type.Array(Type.String(), { description: 'Names of files that are read as logs' })
})

const TargetName = Type.Object({ name: Type.String({ maxLength: 200, description: 'Of a target', examples: ['shop'] }) })

/** No path of this machine is shown. */
export function offerRoutes (app: App, offers: Offers): void {
  app.get('/api/targets', {
    config: { role: 'run' },
    schema: { tags: ['Sessions'], operationId: 'listTargets', summary: 'List where commands may run', description: 'Of what the operator\'s file names, what the token\'s `targets=` allows.', response: { 200: Type.Array(TargetReply) } }
  }, ({ caller }) => offers.targets(caller).map(target => describeTarget(target, caller)))

  app.get('/api/targets/:name/skills', {
    config: { role: 'run', fails: ['TARGET_NOT_FOUND'] },
    schema: { tags: ['Skills'], operationId: 'listSkillsOfTarget', summary: 'List the skills that stand on a target', description: 'Read each time: those of its project and, over SSH, of the home of its user, nested ones too. `skills: true` in the operator\'s file offers them.', params: TargetName, response: { 200: SkillsOfTarget } }
  }, async ({ caller, params }) => describeForeign(await offers.skills(caller, params.name)))

  app.get('/api/workspaces', {
    config: { role: 'run' },
    schema: { tags: ['Sessions'], operationId: 'listWorkspaces', summary: 'List whose files plans may change', description: 'Of what the operator\'s file names, what the token\'s `targets=` allows.', response: { 200: Type.Array(WorkspaceReply) } }
  }, ({ caller }) => offers.workspaces(caller).map(describeWorkspace))
}

function describeTarget (target: Target, { roles }: Caller): Static<typeof TargetReply> {
  const of = { name: target.name, type: target.type, auto: target.mayRunUnasked, skills: hasSkills(target), terminal: target.mayOpenTerminal === true }
  if (target.type === 'local') return { ...of, workspace: target.workspace.name, sandbox: target.sandbox, network: target.hasNetwork }
  return roles.has('approve') ? { ...of, host: target.host, port: target.port, user: target.user } : of
}

function describeWorkspace ({ name, hasSkills: skills, checks, logs }: Workspace): Static<typeof WorkspaceReply> {
  return { name, skills, checks: [...checks.keys()], logs: [...logs.keys()] }
}
