import { type Scenario } from './golden-scenarios.ts'

const HALF = 'src/half.js'
const BROKEN = 'export const half = (n) => n / 3\n'
const CHECK = 'grep -q "n / 2" src/half.js'
const READ = { actions: [], context_requests: [{ type: 'read_file', path: HALF }] }
const DIAGNOSIS = { actions: [], summary: 'Diagnosis: it divides by 3.\n1. Divide by 2.\nCheck: node --test' }
const PLANNED: Scenario['answers'] = [['FILE[', DIAGNOSIS], ['fix half', READ]]

const change = (summary: string, ...actions: object[]): object => ({ actions, summary })
const edit = (search: string, replace: string): object => ({ kind: 'EDIT_FILE', path: HALF, edits: [{ search, replace }] })
const RIGHT = change('It divides by 2 now. Check: node --test', edit('n / 3', 'n / 2'))
const WRONG = change('It divides by 4 now. Check: node --test', edit('n / 3', 'n / 4'))

/** What all scenarios have: a plan of which the diff is asked for, and agreed to. */
const BASE = { schema: 2, goal: 'plan: fix half', files: { [HALF]: BROKEN }, says: ['ok', 'ok'] } as const

/** The ten scenarios of the protocol's version 2, by the name of their file. */
export const SCENARIOS_2: Readonly<Record<string, Scenario>> = {
  '001_edit': { ...BASE, answers: [['apply\n', RIGHT], ...PLANNED] },
  '002_edit_not_found': { ...BASE, answers: [['ERR_EDIT_NOT_FOUND', RIGHT], ['apply\n', change('Missed.', edit('n /  3', 'n / 2'))], ...PLANNED] },
  '003_edit_ambiguous': { ...BASE, answers: [['ERR_EDIT_AMBIGUOUS', RIGHT], ['apply\n', change('Twice.', edit('n', 'm'))], ...PLANNED] },
  '004_update_partial': {
    ...BASE,
    files: { [HALF]: `${BROKEN}${Array.from({ length: 300 }, (_, n) => `// line ${n}\n`).join('')}` },
    answers: [['ERR_UPDATE_PARTIAL', RIGHT], ['apply\n', change('All of it.', { kind: 'UPDATE_FILE', path: HALF, content: 'export const half = (n) => n / 2\n' })], ...PLANNED]
  },
  '005_two_rounds': { ...BASE, check: CHECK, answers: [['CHECK[test]', change('It divides by 2 now.', edit('n / 4', 'n / 2'))], ['apply\n', WRONG], ...PLANNED] },
  '006_rounds_used_up': { ...BASE, check: CHECK, profile: { repair: { rounds: 1 } }, answers: [['CHECK[test]', change('It divides by 5 now.', edit('n / 4', 'n / 5'))], ['apply\n', WRONG], ...PLANNED] },
  '007_base_changed': { ...BASE, says: ['ok', { write: HALF, text: `// of a person\n${BROKEN}` }, 'ok', 'ok'], answers: [['ERR_BASE_CHANGED', RIGHT], ['apply\n', RIGHT], ...PLANNED] },
  '008_diff_refused_with_words': { ...BASE, says: ['ok', 'by a shift, please', 'ok'], answers: [['was NOT written', change('It shifts now.', edit('n / 3', 'n >> 1'))], ['apply\n', RIGHT], ...PLANNED] },
  '009_consent_of_round': {
    ...BASE,
    check: CHECK,
    says: ['ok', 'ok', 'ok'],
    answers: [['CHECK[test]', change('It divides by 2 now, and is told of.', edit('n / 4', 'n / 2'), { kind: 'CREATE_FILE', path: 'README.md', content: '# Half\n' })], ['apply\n', WRONG], ...PLANNED]
  },
  '010_commit': { ...BASE, isRepository: true, says: ['ok', 'ok', 'commit'], answers: [['apply\n', RIGHT], ...PLANNED] }
}
