import { type PathNeed } from '../../template/language.ts'
import { type Json } from '../../base/json.ts'
import { isObject } from '../../template/value.ts'
import { type Prompt } from '../generation/generation.ts'
import { givenAt, type Visit } from './needs-walk.ts'
import { firstSegment } from './path-owner.ts'
import { type NeedPlace, type VariableNeed } from './needs.ts'
import { type PromptParameters } from '../kinds/prompt/prompt-parameters.ts'

/** One variable that one text reads, with the first place that reads it. */
interface Row {
  readonly path: string
  readonly use: PathNeed['use']
  readonly place: NeedPlace
  readonly default: Json | undefined
  /** Whether the variable has a default, even one whose value cannot be told. */
  readonly hasDefault: boolean
}

/** The variables that a prompt and its partials read, one row for each path and text. */
export class VariableNeeds {
  readonly #declared: PromptParameters | undefined
  readonly #rows = new Map<string, Row>()
  readonly #tested = new Set<string>()

  constructor (prompt: Prompt) {
    this.#declared = prompt.entry.parameters
  }

  add (path: string, read: PathNeed['use'], visit: Visit, place: NeedPlace): void {
    const given = givenAt(visit, path)
    const use = given !== undefined && visit.isPossible ? 'possible' : read
    // The variables as a whole always exist, so a test for them always succeeds.
    if (use === 'tested' && path !== 'variables') this.#tested.add(path)
    const key = `${path} ${place.in ?? ''}`
    const known = this.#rows.get(key)
    if (known === undefined) this.#rows.set(key, { path, use, place, ...this.#defaultOf(path, given ?? visit) })
    else if (use === 'used' || known.use === 'possible') this.#rows.set(key, { ...known, use })
  }

  /** Lists the variables that the texts read, and after them the variables that the prompt declares as required and that are not listed as such yet. */
  list (): VariableNeed[] {
    const read = [...this.#rows.values()].map((row): VariableNeed => ({
      path: row.path,
      use: row.use,
      required: this.#isRequired(row),
      ...(row.default === undefined ? {} : { default: row.default }),
      ...row.place
    }))
    return [...read, ...this.#unread(read)]
  }

  /** The default of a path. A variable that the prompt itself requires has none: the render is refused before a partial could give its own default. */
  #defaultOf (path: string, { parameters }: Pick<Visit, 'parameters'>): Pick<Row, 'default' | 'hasDefault'> {
    return this.#requires(topOf(path)) ? { default: undefined, hasDefault: false } : defaultOf(path, parameters)
  }

  #requires (name: string): boolean {
    return this.#declared?.required.has(name) === true && !Object.hasOwn(this.#declared.defaults, name)
  }

  /**
   * Whether a render without the variable is refused. A path that some text tests counts as used only where the test succeeds. So it is not required,
   * unless the prompt declares it as required.
   */
  #isRequired ({ path, use, hasDefault }: Row): boolean {
    if (hasDefault || path === 'variables') return false
    if (this.#requires(path.slice('variables.'.length))) return true
    return use === 'used' && !this.#isTested(path)
  }

  #isTested (path: string): boolean {
    for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
      if (this.#tested.has(path.slice(0, end))) return true
    }
    return false
  }

  #unread (read: readonly VariableNeed[]): VariableNeed[] {
    const covered = new Set(read.filter(({ path, required }) => required || path === `variables.${topOf(path)}`).map(({ path }) => topOf(path)))
    return [...this.#declared?.required ?? []]
      .filter(name => this.#requires(name) && !covered.has(name))
      .map(name => ({ path: `variables.${name}`, use: 'tested', required: true }))
  }
}

/** The name of the variable in a path: the segment after `variables`; `''` for all variables. */
export function topOf (path: string): string {
  return firstSegment(path.slice('variables.'.length))
}

/**
 * The default value of a path. Of several prompts with a default the outermost one counts, because the defaults of a partial only fill what is still
 * missing.
 * @param parameters those of the prompts whose variables these are; the defaults of a partial do not apply to the arguments with which it is called
 */
function defaultOf (path: string, parameters: readonly PromptParameters[]): Pick<Row, 'default' | 'hasDefault'> {
  const [top = '', ...rest] = path.split('.').slice(1)
  const declaring = parameters.find(({ defaults }) => Object.hasOwn(defaults, top))
  let value: Json | undefined = declaring?.defaults[top]
  for (const segment of rest) {
    if (value === undefined) break
    if (segment === '*') return { default: undefined, hasDefault: true }
    value = memberOf(value, segment)
  }
  return { default: value, hasDefault: value !== undefined }
}

function memberOf (value: Json, name: string): Json | undefined {
  const isContainer = Array.isArray(value) || isObject(value)
  return isContainer && Object.hasOwn(value as object, name) ? (value as Readonly<Record<string, Json>>)[name] : undefined
}
