import { RELEASE } from '../../engine/release-key.ts'
import { type Static, Type } from '../../schema/builder.ts'
import { LABEL_PATTERN, type LabelTarget, LATEST, meantBefore } from '../../registry/kinds/release-record.ts'
import { type Service } from '../../service.ts'
import { type ReleaseHistory } from '../../service/releases.ts'
import { resultOf } from '../../session/engine.ts'
import { problemOf, type Session } from '../../session/session.ts'
import { type App } from '../app.ts'
import { ConditionalHeaders, entityTag, readPrecondition } from '../resource.ts'
import { CHANGES_RELEASES, nullable, PlacedDiagnosticReply, PromptId } from '../schemas.ts'
import { SessionStatus } from './sessions.ts'

const number = (description: string) => Type.Integer({ minimum: 1, maximum: 1e15 - 1, description })
const Share = Type.Object({ version: number('A version'), weight: Type.Integer({ minimum: 1, maximum: 100, description: 'Of 100' }) }, { additionalProperties: false })
const Target = Type.Union([number('A version'), Type.Array(Share)], { description: 'A version, or several with weights that sum to 100' })
const Override = Type.String({ maxLength: 1000, pattern: '\\S', description: 'For the role admin: why nobody is asked to look. Kept with the move' })
const Note = nullable(Type.String({ maxLength: 1000 }), { description: 'What for, kept with it' })

const Version = Type.Object({
  n: number('Its number'),
  tag: Type.String({ description: 'Hash of its content, as the ETag of the prompt has it' }),
  at: Type.String({ description: 'When it was recorded, ISO 8601' }),
  by: Type.String({ description: 'The name of a token; `store` for what was found under the plain key, `anyone` where no token is asked for' }),
  note: Type.Optional(Type.String()),
  source: Type.Optional(Type.String({ description: 'Where it comes from, such as git:8c2ae82' })),
  from: Type.Optional(Type.Integer({ description: 'The version that it restores' }))
}, { additionalProperties: true })

const Move = Type.Object({
  label: Type.String(),
  from: Type.Union([Target, Type.Null()], { description: 'null: there was none' }),
  to: Type.Union([Target, Type.Null()], { description: 'null: it was removed' }),
  at: Type.String(),
  by: Type.String(),
  note: Type.Optional(Type.String()),
  request: Type.Optional(Type.String({ description: 'The session that was its change request' })),
  approvedBy: Type.Optional(Type.Array(Type.String(), { description: 'Who has agreed to it there' })),
  override: Type.Optional(Type.String({ description: 'Why an admin moved it without asking anybody to look' }))
}, { additionalProperties: true })

const ChangeRequest = Type.Object({
  id: Type.String({ description: 'Of its session' }),
  label: Type.String(),
  from: Type.Union([Target, Type.Null()], { description: 'What it meant when the move was asked for; null: there was none' }),
  to: Type.Union([Target, Type.Null()], { description: 'null: it would be removed' }),
  status: SessionStatus,
  word: Type.String({ description: 'testing, waiting, moved, refused or outdated' }),
  by: Type.String({ description: 'Name of the token that asks for it' }),
  at: Type.String({ format: 'date-time' }),
  note: Type.Optional(Type.String()),
  approvals: Type.Integer({ description: 'How many others have to agree' }),
  approvedBy: Type.Array(Type.String()),
  problem: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() }, { description: 'Why it was not moved' }))
})

const History = Type.Object({
  latest: Type.Optional(Type.Integer({ description: 'The version that is served where nobody says a label; left out for content that is none' })),
  versions: Type.Array(Version, { description: 'The newest first: 50, and those that labels mean' }),
  labels: Type.Record(Type.String(), Target, { description: 'What each label means' }),
  moves: Type.Array(Move, { description: 'The last 50 moves of labels, the latest first' }),
  before: Type.Record(Type.String(), Target, { description: 'What each label meant before it was last moved, as far as that is recorded; a move that took one back is skipped' }),
  recorded: Type.Boolean({ description: 'Whether a prompt that is published over HTTP becomes a version' }),
  unlabelled: Type.String({ description: 'The label that is served where neither a request nor its token says one' }),
  protected: Type.Array(Type.String(), { description: 'Labels that only the role admin and tokens with `labels=` move' }),
  looks: Type.Record(Type.String(), Type.Object({ tests: Type.Boolean({ description: 'Whether the tests have to pass' }), approvals: Type.Integer({ description: 'How many others have to agree' }) }), { description: 'Labels of which each move is a change request' })
})

const VersionReply = Type.Object({
  ...Version.properties,
  entry: Type.Unknown({ description: 'The prompt as it was stored' }),
  diagnostics: Type.Array(PlacedDiagnosticReply, { description: 'What is noticed about it now' })
}, { additionalProperties: true })

const VersionParameters = Type.Object({ ...PromptId.properties, n: Type.Integer({ minimum: 1, maximum: 1e15 - 1, description: 'The number of the version', examples: [1] }) })
const LabelParameters = Type.Object({ ...PromptId.properties, label: Type.String({ pattern: LABEL_PATTERN, description: 'A label, such as production; not latest', examples: ['staging'] }) })
const NoteBody = Type.Union([Type.Object({ note: Note }), Type.Null()], { examples: [{ note: 'as it was before the trial' }] })
const LabelBody = Type.Object({
  version: Type.Union([Type.Literal('latest'), number('A version'), Type.Array(Share, { minItems: 1, maxItems: 10 })], { description: 'A version; several with weights that sum to 100; or `latest`, which is made a version first' }),
  note: Note,
  override: Type.Optional(Override)
}, { examples: [{ version: 'latest', note: 'reviewed' }] })

const asked = { 202: { ...ChangeRequest, description: 'Others have to look first: `Location` is the session of the change request' } }
const removed = { 204: Type.Null({ description: 'Removed' }) }
const MOVES_LABEL = [...CHANGES_RELEASES, 'LABEL_PROTECTED', 'TOO_MANY_SESSIONS', 'SESSIONS_UNAVAILABLE'] as const
const CONDITIONS = '`If-Match` with the ETag of `GET /api/prompts/{id}/versions` refuses to move what somebody else has moved since.'

export function releaseRoutes (app: App, { releases, labelMoves }: Pick<Service, 'releases' | 'labelMoves'>): void {
  const { isRecording, defaultLabel, protectedLabels, looks } = releases.rules
  const describe = ({ record: { versions, labels, moves }, latest }: ReleaseHistory) => ({
    latest,
    versions: [...versions],
    labels: Object.fromEntries(labels) as Record<string, number>,
    moves: [...moves],
    before: Object.fromEntries([...labels.keys()].flatMap(label => {
      const { target = null } = meantBefore(moves, label) ?? {}
      return target === null ? [] : [[label, target]]
    })) as Record<string, number>,
    recorded: isRecording,
    unlabelled: defaultLabel === '' ? LATEST : defaultLabel,
    protected: [...protectedLabels],
    looks: Object.fromEntries(looks) as Record<string, { tests: boolean, approvals: number }>
  })

  app.get('/api/prompts/:id/versions', {
    config: { role: 'read', seeksPrompt: true, fails: ['PROMPT_NOT_FOUND', 'RELEASES_UNREADABLE'], headers: ['etag'] },
    schema: { tags: ['Releases'], operationId: 'listPromptVersions', summary: 'Versions and labels of a prompt', description: 'As they are stored now; the ETag is that of the labels and versions.', params: PromptId, response: { 200: History } }
  }, async ({ generation, caller, params: { id } }, reply) => {
    const history = await releases.history({ generation, caller, id })
    if (history.tag !== undefined) reply.header('etag', entityTag(history.tag))
    return describe(history)
  })

  app.get('/api/prompts/:id/versions/:n', {
    config: { role: 'read', seeksPrompt: true, fails: ['PROMPT_NOT_FOUND', 'VERSION_NOT_FOUND', 'RELEASES_UNREADABLE'] },
    schema: { tags: ['Releases'], operationId: 'getPromptVersion', summary: 'A version of a prompt as it was stored', params: VersionParameters, response: { 200: VersionReply } }
  }, async ({ generation, caller, params: { id, n } }) => {
    const { note, entry, diagnostics } = await releases.version({ generation, caller, id }, n)
    return { ...note, entry, diagnostics: [...diagnostics] }
  })

  app.post('/api/prompts/:id/versions', {
    config: { role: 'write', seeksPrompt: true, fails: CHANGES_RELEASES },
    schema: { tags: ['Releases'], operationId: 'createPromptVersion', summary: 'Make what is served a version', description: 'A prompt of an extension too. What is a version already is not made another one.', params: PromptId, body: NoteBody, response: { 200: Version } }
  }, async ({ generation, caller, id: requestId, params: { id }, body }) => {
    return await releases.freeze({ generation, caller, id, requestId, note: body?.note ?? undefined })
  })

  app.put('/api/prompts/:id/labels/:label', {
    config: { role: 'write', seeksPrompt: true, fails: MOVES_LABEL, headers: ['etag'] },
    schema: { tags: ['Releases'], operationId: 'putPromptLabel', summary: 'Let a label mean a version', description: `A version that could not run now is refused. To go back is to name the version of before: no text is copied. Protected labels are moved by the role admin, and by tokens with \`labels=\`. Where the operator's file wants others to look, this begins a change request. ${CONDITIONS}`, params: LabelParameters, headers: ConditionalHeaders, body: LabelBody, response: { 200: History, ...asked } }
  }, async ({ generation, caller, id: requestId, params: { id, label }, body: { version, note, override }, headers }, reply) => {
    const change = { generation, caller, id, requestId, note: note ?? undefined }
    const moved = await labelMoves.move(change, label, version as LabelTarget | 'latest', readPrecondition(headers), override)
    if ('engine' in moved) return reply.code(202).header('location', placeOf(moved)).send(describeRequest(moved))
    if (moved.tag !== undefined) reply.header('etag', entityTag(moved.tag))
    return describe(moved)
  })

  app.delete('/api/prompts/:id/labels/:label', {
    config: { role: 'write', seeksPrompt: true, fails: [...MOVES_LABEL, 'LABEL_NOT_FOUND'] },
    schema: { tags: ['Releases'], operationId: 'deletePromptLabel', summary: 'Remove a label', description: `Whoever asks for it is answered 404 from then on. Where the operator's file wants others to look, this begins a change request. ${CONDITIONS}`, params: LabelParameters, headers: ConditionalHeaders, querystring: Type.Object({ override: Type.Optional(Override) }), response: { ...removed, ...asked } }
  }, async ({ generation, caller, id: requestId, params: { id, label }, query: { override }, headers }, reply) => {
    const moved = await labelMoves.move({ generation, caller, id, requestId }, label, null, readPrecondition(headers), override)
    if ('engine' in moved) return reply.code(202).header('location', placeOf(moved)).send(describeRequest(moved))
    return reply.code(204).send(null)
  })

  app.get('/api/prompts/:id/requests', {
    config: { role: 'read', seeksPrompt: true, fails: ['PROMPT_NOT_FOUND', 'RELEASES_UNREADABLE', 'SESSIONS_UNAVAILABLE'] },
    schema: { tags: ['Releases'], operationId: 'listChangeRequests', summary: 'Change requests of a prompt\'s labels', description: 'The last 50, the newest first, of all callers.', params: PromptId, response: { 200: Type.Array(ChangeRequest) } }
  }, async ({ generation, caller, params: { id } }) => (await labelMoves.requests(generation, caller, id)).map(describeRequest))

  app.post('/api/prompts/:id/versions/:n/restore', {
    config: { role: 'write', seeksPrompt: true, fails: [...CHANGES_RELEASES, 'LINT_BUSY'], headers: ['etag'] },
    schema: { tags: ['Releases'], operationId: 'restorePromptVersion', summary: 'Publish a version again, as a new one', description: 'What is served where nobody says a label is then what the version was. `If-Match` is with the ETag of the prompt.', params: VersionParameters, headers: ConditionalHeaders, body: NoteBody, response: { 200: Type.Object({ id: Type.String(), key: Type.String(), version: Type.Optional(Type.Integer()), diagnostics: Type.Array(PlacedDiagnosticReply) }) } }
  }, async ({ generation, caller, id: requestId, params: { id, n }, body, headers }, reply) => {
    const { id: path, key, tag, version, diagnostics } = await releases.restore({
      generation,
      caller,
      id,
      requestId,
      note: body?.note ?? undefined
    }, n, readPrecondition(headers))
    if (tag !== undefined) reply.header('etag', entityTag(tag))
    return { id: path, key, version, diagnostics: [...diagnostics] }
  })

  app.delete('/api/prompts/:id/versions/:n', {
    config: { role: 'admin', seeksPrompt: true, fails: [...CHANGES_RELEASES, 'VERSION_LABELLED'] },
    schema: { tags: ['Releases'], operationId: 'deletePromptVersion', summary: 'Forget a version for good', description: 'For a text that should never have been there. Not while a label means it; what is served where nobody says a label stays until something else is published.', params: VersionParameters, response: removed }
  }, async ({ generation, caller, id: requestId, params: { id, n } }, reply) => {
    await releases.removeVersion({ generation, caller, id, requestId }, n)
    return reply.code(204).send(null)
  })
}

function describeRequest (session: Session) {
  const { id, status, start: { owner }, createdAt, engine: { view } } = session
  const { change: { label, from, to }, note, approvals, approvedBy } = resultOf(session, RELEASE)
  const targets = { from, to } as { from: Static<typeof Target> | null, to: Static<typeof Target> | null }
  const asked = { by: owner, at: new Date(createdAt).toISOString(), note }
  return { id, label, ...targets, status, word: view.stateName, ...asked, approvals, approvedBy: [...approvedBy], problem: problemOf(session) }
}

function placeOf ({ id }: Session): string {
  return `/api/sessions/${id}`
}
