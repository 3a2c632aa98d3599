import { join } from 'node:path'
import { SECRET } from './notice-receiver.ts'
import { type JsonView, type RequestHeaders, type Service, startService } from './service.ts'
import { type AtEnd } from './shared.ts'
import { createTemporaryFolder } from './temporary-folder.ts'
import { waitFor } from './wait-for.ts'

/** What the operator of a service offers beside the workspace `shop`, in which `here` is. */
export interface OperatorWishes {
  readonly auto?: boolean
  readonly policy?: readonly object[]
  /** Who is told; secrets are those of `NoticeServer`, in the file `secret`. */
  readonly notices?: object
  /** Members of the target `here`. */
  readonly here?: object
  /** What claims of JWTs give. */
  readonly identities?: readonly object[]
}

/** A service whose skill `walk` wants to run `echo one`, `echo two`, then `echo one` again, each time on the target `here`. */
export interface AskingPlace {
  /** The workspace. */
  readonly shop: string
  /** The operator's file of the service that was started last. */
  readonly operatorFile: string
  /** Starts the service, over what an earlier one has left. */
  start (wishes?: OperatorWishes, environment?: Readonly<Record<string, string>>): Promise<AskingService>
}

export interface AskingService extends Service {
  /** Starts the skill, and gives what is known of it when it waits. */
  walk (headers?: RequestHeaders, wishes?: object): Promise<Walk>
  /** Changes who has which token, and waits until that is in force. */
  setTokens (lines: readonly string[]): Promise<void>
  /** The same for what claims of JWTs give. */
  setIdentities (rows: readonly object[]): Promise<void>
}

/** A run of the skill. */
export interface Walk {
  readonly id: string
  /** The approval that its start has shown. */
  readonly approval: JsonView
  /** What waits for a person in it now. */
  waiting (): Promise<JsonView | undefined>
}

const SKILL = '---\nname: walk\ndescription: Walks.\n---\nWalk.'

const REPLIES = [['Step 1 of', '[CMD] echo one'], ['Step 2 of', '[CMD] echo two'], ['Step 3 of', '[CMD] echo one'], ['Step', '[DONE] Walked.']].map(([last, reply]) => ({ last, reply }))

/** Makes the folders of such services. @param tokens lines of its file of tokens; without them no token is asked for */
export async function askingPlace (t: AtEnd, tokens?: readonly string[]): Promise<AskingPlace> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('shop/a.txt', 'a')
  await folder.write('replies.yaml', JSON.stringify(REPLIES))
  if (tokens !== undefined) await folder.write('tokens', tokens.join('\n'))
  const at = (name: string): string => join(folder.path, name)
  return {
    shop: at('shop'),
    operatorFile: at('operator.json'),
    async start ({ auto = false, policy = [], here = {}, identities = [], notices = {} } = {}, environment = {}) {
      const writeOperator = (rows: readonly object[]) => folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off', auto, ...here } }, policy, identities: rows, notices }))
      await folder.write('secret', SECRET)
      await writeOperator(identities)
      const service = await startService(t, { 'skills:walk': SKILL }, {
        LLM_BASE_URL: 'builtin:script',
        LLM_SCRIPT_FILE: at('replies.yaml'),
        OPERATOR_FILE: at('operator.json'),
        LOG_LEVEL: 'info',
        ...(tokens === undefined ? {} : { API_TOKENS_FILE: at('tokens') }),
        ...environment
      })
      async function changed (variable: string, write: () => Promise<void>): Promise<void> {
        const changes = (): number => service.log.filter(({ msg }) => String(msg).startsWith(`${variable} has changed`)).length
        const before = changes()
        await write()
        await waitFor(`the new ${variable}`, () => changes() > before)
      }
      return {
        ...service,
        async walk (headers = {}, wishes = {}) {
          const { json } = await service.post('/api/skills/start', { terminalSessionId: 'here', skillId: 'walk', ...wishes }, headers)
          const [id, approval] = [String(json['data']?.['skillSessionId']), json['data']?.['approval']]
          if (approval === undefined) throw new Error(`the skill did not start: ${JSON.stringify(json)}`)
          return { id, approval, waiting: async () => (await service.get(`/api/sessions/${id}`, headers)).json['approvals']?.['0'] }
        },
        setTokens: lines => changed('API_TOKENS_FILE', () => folder.write('tokens', lines.join('\n'))),
        setIdentities: rows => changed('OPERATOR_FILE', () => writeOperator(rows))
      }
    }
  }
}
