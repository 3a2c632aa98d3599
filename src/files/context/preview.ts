import { canonicalJson, type Json } from '../../base/json.ts'
import { createSlices } from '../../runtime/slices.ts'
import { parseActions, type Eol } from '../change/action.ts'
import { diffOf } from '../change/diff.ts'
import { manifest } from '../change/manifest.ts'
import { type ActionKind, type Step } from '../change/step.ts'
import { survey } from '../change/survey.ts'
import { sha256, type WorkspaceFiles } from '../workspace-files.ts'

/** What is shown of a change in all, in UTF-16 units; what is beyond has no diff. */
const MAX_SHOWN = 120_000
const MAX_FILES = 500

/** What a change would do. */
export interface Preview {
  readonly files: ReadonlyArray<{ readonly path: string, readonly kind: ActionKind, readonly diff: string }>
  /** How many further files there are, which are not listed. */
  readonly more: number
  /** Of all of it: a person who agrees to this digest agrees to nothing else. */
  readonly digest: string
}

/** Shows what actions would do, writing nothing. @throws FileRefusal as the change itself would, but for its bases */
export async function preview (files: WorkspaceFiles, given: Json | undefined, eol: Eol): Promise<Preview> {
  const actions = parseActions(given, eol)
  const wanted = await survey(files, actions, undefined)
  const steps = manifest(wanted).filter(({ before, after }) => before !== after)
  const contents = new Map(actions.flatMap(({ content }) => content === undefined ? [] : [[sha256(content), content]]))
  const shown: Array<Preview['files'][number]> = []
  const slices = createSlices()
  let length = 0
  for (const step of steps.slice(0, MAX_FILES)) {
    const diff = length > MAX_SHOWN ? '' : await diffOfStep(files, step, contents)
    length += diff.length
    shown.push({ path: step.path, kind: step.kind, diff })
    if (slices.isDue()) await slices.pause()
  }
  return { files: shown, more: Math.max(0, steps.length - MAX_FILES), digest: sha256(canonicalJson(steps.map(({ kind, path, before, after }) => ({ kind, path, before, after })))) }
}

async function diffOfStep (files: WorkspaceFiles, { path, before, after }: Step, contents: ReadonlyMap<string, Buffer>): Promise<string> {
  if (before === 'folder' || after === 'folder') return ''
  const old = before === null ? undefined : (await files.read(path)).bytes
  const young = after === null ? undefined : contents.get(after)
  if (old?.includes(0) === true) return `(${old.length} bytes that are no text)\n`
  return diffOf(path, old?.toString(), young?.toString())
}
