import { describeText, type MissingPath, type PartProblem, type ServiceError, type TextName, type Violation } from '../../base/errors.ts'
import { type Diagnostic } from '../../registry/diagnostic/diagnostic.ts'
import { placed, type PlacedDiagnostic } from '../../registry/diagnostic/diagnostic-table.ts'

/** A mistake in a previewed prompt, or in the variables of the preview. */
export interface Mistake extends PlacedDiagnostic {
  /** The partial (included prompt) that has the mistake; left out for a mistake in the previewed prompt itself. */
  readonly in?: string
  /** The variable that has the mistake, as `variables.name`. */
  readonly path?: string
  /** An existing name that the author perhaps meant. */
  readonly near?: string
  /** The part of the prompt that has the mistake, as a JSON pointer (RFC 6901); left out for a mistake that has a line in a text. */
  readonly field?: string
}

/** Turns a diagnostic of an entry into a mistake that is shown to the author of the prompt. */
export function mistakeOf (diagnostic: Diagnostic): Mistake {
  const { field, line } = diagnostic
  return { ...placed(diagnostic), ...(field === undefined || line !== undefined ? {} : { field: pointerOf(field) }) }
}

/** Writes a path as a JSON pointer (RFC 6901): `/messages/0`. */
function pointerOf (steps: ReadonlyArray<string | number>): string {
  return steps.map(step => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The details that an error of a render may have. */
interface Facts extends Pick<TextName, 'part' | 'member'> {
  readonly missing?: readonly MissingPath[]
  readonly violations?: readonly Violation[]
  readonly problems?: readonly PartProblem[]
  readonly line?: number
  readonly column?: number
  readonly messageIndex?: number | undefined
  readonly in?: string | undefined
}

/**
 * The mistakes that made a render fail; `undefined` if the cause was not the prompt or its variables, but the state of the service: a timeout, or
 * a store that cannot be reached.
 */
export function mistakesOfRender (error: ServiceError): readonly Mistake[] | undefined {
  const { code, message, statusCode } = error
  if (statusCode === 503 && code !== 'RENDER_BUDGET') return undefined
  const { missing = [], violations = [], problems = [], ...place } = (error.details ?? {}) as Facts
  const found = [
    ...missing.map(({ path, near, ...at }) => {
      const advice = near === undefined ? { hint: 'give it a value' } : { near, hint: `${near} is there` }
      return { ...mistake(code, `${path} is missing`, at), path, ...advice }
    }),
    ...violations.map(({ path, message: problem }) => ({ ...mistake(code, `${path} ${problem}`), path, hint: 'correct the value' })),
    ...problems.map(({ reason, ...at }) => ({ ...mistake(code, `${describeText(at).join(', ')} ${reason}`, at), hint: 'correct the value' }))
  ]
  return found.length > 0 ? found : [mistake(code, message, place)]
}

function mistake (code: string, message: string, place: Omit<Facts, 'missing' | 'violations' | 'problems'> = {}): Mistake {
  const { line = 1, column = 1, messageIndex, part, member, in: partial } = place
  return {
    severity: 'error',
    code,
    message,
    hint: '',
    line,
    column,
    ...(messageIndex === undefined ? {} : { messageIndex }),
    ...(part === undefined ? {} : { part }),
    ...(member === undefined ? {} : { member }),
    ...(partial === undefined ? {} : { in: partial })
  }
}
