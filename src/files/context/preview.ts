import { type JsonObject } from '../../base/json.ts'
import { parseChange } from '../change/change.ts'
import { contentsOf } from '../change/contents.ts'
import { type Page, pageOf, type Touched } from '../change/page.ts'
import { type ChangePlace, planned } from '../change/planned.ts'
import { shownOf } from '../change/shown.ts'
import { FileRefusal } from '../file-refusal.ts'

/** How much the paths of one change may take, in UTF-16 units of their JSON: a log has to hold them. */
const MAX_LIST = 4 * 1024 * 1024

/** What a change would do. */
export interface Preview extends Page {
  /** All that it touches: whoever agrees to this agrees to nothing else. */
  readonly shown: readonly JsonObject[]
  /** What it leaves alone, since somebody else has been there. */
  readonly conflicts: readonly JsonObject[]
}

/** Shows what a change would do, writing nothing. @throws FileRefusal as the change itself would */
export async function preview (place: ChangePlace, given: JsonObject): Promise<Preview> {
  const change = parseChange(given)
  const { steps, actions, conflicts } = await planned(change, place)
  const shown = shownOf(steps)
  const { length } = JSON.stringify(shown)
  if (length > MAX_LIST) {
    throw new FileRefusal(
      'ERR_CONTENT_TOO_LARGE',
      `the ${shown.length} paths of the change take ${length} characters; at most ${MAX_LIST} are shown at a time`
    )
  }
  const page = await pageOf(shown as unknown as Touched[], contentsOf(place, actions))
  return { ...page, shown, conflicts: conflicts.map(conflict => ({ ...conflict })) }
}
