import { type JsonObject } from '../../base/json.ts'
import { parseChange } from '../change/change.ts'
import { contentsOf } from '../change/contents.ts'
import { type Page, pageOf, type Touched } from '../change/page.ts'
import { type ChangePlace, planned } from '../change/planned.ts'
import { shownOf } from '../change/shown.ts'
import { FileRefusal } from '../file-refusal.ts'

/** The largest length of the list of a change's paths, in UTF-16 units of its JSON. It is limited because the session's log contains the list. */
const MAX_LIST = 4 * 1024 * 1024

/** The preview of a change of files: the paths that it would touch, and the first page of their diffs. */
export interface Preview extends Page {
  /** All paths that the change would touch. A person who agrees to the preview agrees to these only. */
  readonly shown: readonly JsonObject[]
  /** The paths that the change would not touch, since somebody else has changed them. */
  readonly conflicts: readonly JsonObject[]
}

/** Computes what a change would do, without writing. @param together as in `planned` @throws FileRefusal when the change would be refused */
export async function preview (place: ChangePlace, given: JsonObject, together: readonly string[] = []): Promise<Preview> {
  const change = parseChange(given)
  const { steps, actions, conflicts } = await planned(change, place, together)
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
