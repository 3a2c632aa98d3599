import { createSlices } from '../../runtime/slices.ts'
import { type Link, type LinkedPartial } from '../../template/language.ts'
import { type Generation, type Prompt, type Release } from '../../registry/generation/generation.ts'
import { everyPath } from '../../registry/needs/own-paths.ts'
import { overlaps } from '../../registry/needs/path-overlap.ts'
import { isPromptPartial } from '../../registry/link/link-prompts.ts'
import { linksOf } from '../../registry/needs/usage-index.ts'

/** The most partials (included prompts) that are searched for one version of a prompt. */
const MAX_LOOKED_AT = 1000

/** A label of a prompt, such as `production`, whose versions use a certain tool, prompt or shared variable. */
export interface ReleasedUser {
  /** The id of the prompt and the label: `review.short@production`. */
  readonly id: string
  readonly direct: boolean
  readonly through: readonly string[]
  /** Those of the label's versions that use the tool, prompt or shared variable. */
  readonly versions: readonly number[]
}

/** The members of a prompt, or of a partial (an included prompt), that are searched for uses. */
type Text = Pick<Prompt, 'id' | 'entry' | 'texts'> & Partial<Pick<Prompt, 'loopTools'>>

/** Tells whether a prompt's own text uses a certain prompt, tool or shared variable. Uses in its partials (included prompts) do not count. */
export type Uses = (text: Text, links: readonly Link[]) => boolean

/** Goes through the labels of all prompts. Gives those with a version that uses a certain prompt, tool or shared variable, itself or in an included prompt. */
export async function findReleasedUsers ({ releases }: Pick<Generation, 'releases'>, uses: Uses): Promise<readonly ReleasedUser[]> {
  const slices = createSlices()
  const found: ReleasedUser[] = []
  for (const release of releases.values()) {
    for (const label of release.labels.keys()) {
      const user = userOf(release, label, uses)
      if (user !== undefined) found.push(user)
    }
    if (slices.isDue()) await slices.pause()
  }
  return found
}

/** Makes the test whether a prompt's text uses a tool. @param isServer whether `id` names a server of tools: then each tool that the server offers counts */
export function usesTool (id: string, isServer: boolean): Uses {
  const isMeant = (tool: string) => tool === id || (isServer && tool.startsWith(`${id}.`))
  return ({ entry, loopTools = [] }, links) => links.some(link => link.kind === 'tool' && isMeant(link.id)) ||
    (entry.chat.toolLoop?.tools !== undefined && loopTools.some(tool => isMeant(tool.id)))
}

/** Makes the test whether a text includes a prompt as a partial, in any version. */
export function usesPrompt (id: string): Uses {
  return (_text, links) => links.some(link => link.kind === 'partial' && idOf(link) === id)
}

/** Makes the test whether a prompt's text reads a shared variable, a member of the variable's value, or a value that contains the variable. */
export function usesEnviron (id: string): Uses {
  const wanted = id.split('.')
  return text => [...everyPath(text)].some(({ need }) => overlaps(need.path.split('.'), wanted))
}

function userOf ({ id, labels }: Release, label: string, uses: Uses): ReleasedUser | undefined {
  const versions: number[] = []
  const through = new Set<string>()
  let direct = false
  for (const { version, prompt } of labels.get(label) ?? []) {
    const [own, ...partials] = textsOf(prompt)
    const isDirect = uses(own as Text, linksOf(own as Text))
    const users = partials.filter(text => uses(text, linksOf(text)))
    if (!isDirect && users.length === 0) continue
    direct ||= isDirect
    versions.push(version)
    for (const text of users) through.add(text.id)
  }
  return versions.length === 0 ? undefined : { id: `${id}@${label}`, direct, through: [...through].sort(), versions }
}

/** The text of a prompt's version, then the texts of the partials (included prompts), as far as MAX_LOOKED_AT allows. */
function textsOf (prompt: Prompt): readonly Text[] {
  const texts = new Map<Prompt['entry'], Text>([[prompt.entry, prompt]])
  for (const text of texts.values()) {
    if (texts.size > MAX_LOOKED_AT) break
    for (const link of linksOf(text)) if (isPromptPartial(link) && !texts.has(link.prompt.entry)) texts.set(link.prompt.entry, link.prompt)
  }
  return [...texts.values()]
}

function idOf (link: LinkedPartial): string {
  return isPromptPartial(link) ? link.prompt.entry.id : link.id
}
