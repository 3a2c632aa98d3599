import { type Verdict } from './judge.ts'
import { SAMPLE_TOOLS } from './sample-tools.ts'

/** A class of places where this engine differs from Go on purpose. */
export interface DifferenceClass {
  readonly name: string
  /** How docs/templates.md begins to say it: the first words of a point of its list. */
  readonly says: string
  /** Whether the class explains what differs. */
  explains (verdict: Pick<Verdict, 'vector' | 'expected' | 'got'>): boolean
}

/** How Go prints nil and what is missing, alone, under a verb, and escaped. */
const NIL_TEXTS = /%!.\(<nil>\)|<nil>|(?:<|&lt;|%3C|\\u003C)no[ +]value(?:>|&gt;|%3E|\\u003E)/g

/** A nil that is printed within an expression, whose text another function may look at. */
const PRINTED_NIL = /(?=.*(?:nil|nul))\b(?:html|js|urlquery|print(?:f|ln)?)\b|(?:nil|nul).*\b(?:html|js|urlquery|print(?:f|ln)?)\b/s

const TOOL_CALL = new RegExp(`\\b(?:${Object.keys(SAMPLE_TOOLS).join('|')})\\b`)
const isText = (outcome: string): boolean => !/^(?:parse|exec|missing|link): |^RENDER_/.test(outcome)
const withoutNil = (text: string): string => text.replace(NIL_TEXTS, '').replace(/\s/g, '')

/** All of them, the first that explains a difference is its class. */
export const GO_DIFFERENCES: readonly DifferenceClass[] = [
  {
    name: 'open names',
    says: 'A function that is not built in is a tool',
    explains: ({ expected, got }) => got.startsWith('link: ') || /^parse: function ".*" not defined$/.test(expected)
  },
  {
    name: 'missing key',
    says: 'A missing value is an error that names it.',
    explains: ({ expected, got }) => got.startsWith('missing: ') || /index of (?:untyped nil|nil pointer)$/.test(expected)
  },
  {
    name: 'options',
    says: 'Delimiters and the option `missingkey` cannot be chosen.',
    explains: ({ vector, expected }) => vector.options?.missingkey !== undefined && /no entry for key|nil pointer evaluating/.test(expected)
  },
  {
    name: 'own name',
    says: 'The template itself has no name',
    explains: ({ vector }) => /\b(?:define|block) "t"/.test(vector.template)
  },
  {
    name: 'nesting',
    says: 'Templates call each other 100 deep.',
    explains: ({ got }) => got === 'RENDER_ENDLESS' || got === 'RENDER_BUDGET' || /nest deeper|max expression depth|else branches follow/.test(got)
  },
  {
    name: 'integers',
    says: 'An integral number is an integer.',
    explains: ({ vector }) => vector.options?.numbers === 'float64' || (typeof vector.data === 'bigint' && BigInt.asIntN(64, vector.data) !== vector.data)
  },
  {
    name: 'slices',
    says: '`slice` takes an index out of the data.',
    explains: ({ expected }) => expected.endsWith('cannot index slice/array with type interface {}')
  },
  {
    name: 'floats',
    says: 'The verbs of floats take integers.',
    explains: ({ expected }) => /%![eEfFgG]\((?:int|uint8)=/.test(expected)
  },
  {
    name: 'nil',
    says: 'Null prints as empty text.',
    explains: ({ vector, expected, got }) => isText(expected)
      ? withoutNil(expected) === withoutNil(got) || PRINTED_NIL.test(vector.template)
      : expected.endsWith('call of reflect.Value.Type on zero Value') && got.endsWith('len of nil pointer')
  },
  {
    name: 'messages',
    says: 'An error says the place and the reason',
    explains: ({ expected, got }) => got.startsWith(expected === 'parse: unexpected EOF' ? `${expected}: {{` : 'parse: unclosed action') ||
      (expected.includes('can\'t evaluate field') && got.includes('can\'t evaluate field'))
  },
  {
    name: 'tools',
    says: 'A tool has no Go types.',
    explains: ({ vector }) => TOOL_CALL.test(vector.template)
  }
]

/** The class of a difference; `undefined` for one that is a fault. */
export function classOf (verdict: Pick<Verdict, 'vector' | 'expected' | 'got'>): string | undefined {
  return GO_DIFFERENCES.find(each => each.explains(verdict))?.name
}
