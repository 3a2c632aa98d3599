import { type Caller } from '../../access/caller.ts'
import { type Static, Type } from '../../base/schema-builder.ts'
import { type Target, type Workspace } from '../../config/operator.ts'
import { hasSkills } from '../../service/sessions/offers/foreign-skills.ts'
import { type Offers } from '../../service/sessions/offers/offers.ts'
import { type App } from '../base/app-types.ts'
import { oneOf } from '../base/schemas.ts'
import { describeForeign, SkillsOfTarget } from '../sessions/skill-catalogue.ts'

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

/**
 * The routes that list the targets (machines) and workspaces (folders) that a caller may choose for a session. No path of this machine is
 * shown.
 */
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

/** Describes a target (a machine on which sessions run commands), with more details for callers with the role `approve`. */
function describeTarget (target: Target, { roles }: Caller): Static<typeof TargetReply> {
  const of = { name: target.name, type: target.type, auto: target.mayRunUnasked, skills: hasSkills(target), terminal: target.mayOpenTerminal === true }
  if (target.type === 'local') return { ...of, workspace: target.workspace.name, sandbox: target.sandbox, network: target.hasNetwork }
  return roles.has('approve') ? { ...of, host: target.host, port: target.port, user: target.user } : of
}

function describeWorkspace ({ name, hasSkills: skills, checks, logs }: Workspace): Static<typeof WorkspaceReply> {
  return { name, skills, checks: [...checks.keys()], logs: [...logs.keys()] }
}
