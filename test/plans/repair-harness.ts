import { type TestContext } from 'node:test'
import { dirname, join } from 'node:path'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { treeOf, type Tree } from '../files/change/workspace.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { type JsonView, type Service, startService } from '../helpers/service.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'

/** What a model answers: an object as JSON, a text as it is. */
export type Answer = object | string

export interface TaskFiles { readonly [path: string]: string }

/** A workspace with real files, a check, and a model that answers from a list. */
export interface RepairPlace {
  readonly service: Service
  /** What the model was sent, one text a request. */
  readonly asked: readonly string[]
  tree (): Promise<Tree>
  read (path: string): Promise<string>
  write (path: string, text: string): Promise<void>
  /** Starts a plan. */
  start (body?: object): Promise<JsonView>
  /** Sends something to the plan, and waits for it. */
  act (id: string, name: string, body?: object): Promise<JsonView>
}

/** @param check a command; the workspace passes where its exit code is 0 @param answers in turn; the last one comes again */
export async function repairPlace (t: Pick<TestContext, 'after'>, given: { readonly files: TaskFiles, readonly check: string, readonly answers: readonly Answer[], readonly profile?: object }): Promise<RepairPlace> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const root = join(folder.path, 'shop')
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  await mkdir(root)
  for (const [path, text] of Object.entries(given.files)) await write(path, text)
  await folder.write('operator.yaml', `workspaces:\n  shop: ${JSON.stringify({ path: 'shop', checks: { test: given.check } })}\n`)
  const asked: string[] = []
  const upstream = await startUpstream(({ body }, response, count) => {
    asked.push(body)
    const answer = given.answers[Math.min(count, given.answers.length) - 1] ?? ''
    sendJson(response, 200, completion(typeof answer === 'string' ? answer : JSON.stringify(answer)))
  })
  t.after(() => upstream.close())
  const service = await startService(t as TestContext, { 'plans:default': given.profile ?? {} }, { OPERATOR_FILE: join(folder.path, 'operator.yaml'), STATE_DIR: join(folder.path, 'state'), LLM_BASE_URL: upstream.baseUrl, LLM_API_KEY: 'k', PAPAYU_LLM_MODEL: 'm' })
  return {
    service,
    asked,
    write,
    tree: () => treeOf(root),
    read: path => readFile(join(root, path), 'utf8'),
    start: async (body = { goal: 'apply: mend it' }) => (await service.post('/api/plans', { workspace: 'shop', ...body })).json,
    act: async (id, name, body) => (await service.post(`/api/plans/${id}/${name}`, body)).json
  }
}

/** Agrees to all that waits, at most ten times. @param atDiff what happens while the n-th diff waits, from 1 */
export async function agreeToAll (place: RepairPlace, begun: JsonView, atDiff: (n: number) => Promise<void> = async () => {}): Promise<JsonView> {
  let plan = begun
  for (let n = 1; n <= 10 && String(plan['state']) === 'awaiting_confirmation'; n++) {
    await atDiff(n)
    plan = await place.act(String(plan['id']), String(plan['confirm']?.['kind']) === 'diff' ? 'apply' : 'confirm', { digest: String(plan['confirm']?.['digest']) })
  }
  return plan
}
