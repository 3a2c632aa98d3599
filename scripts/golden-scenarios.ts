/** A plan that is made with a script for a model, to make a golden trace of. */
export interface Scenario {
  readonly goal: string
  readonly files?: Readonly<Record<string, string>>
  /** What the model answers: the first whose text is in the last message; `''` is in any. */
  readonly answers: ReadonlyArray<readonly [inLast: string, answer: object]>
  /** What the user says when the plan waits, and what somebody else writes meanwhile. */
  readonly says?: ReadonlyArray<string | { readonly write: string, readonly text: string }>
  /** @default 1 */
  readonly schema?: 1 | 2
  /** Fields of the profile beside that. */
  readonly profile?: object
  /** A command that checks the change. @default none does */
  readonly check?: string
  /** Whether the workspace is a repository of git, in which commits are allowed. */
  readonly isRepository?: boolean
}

const BROKEN = 'export const half = (n) => n / 3\n'
const MENDED = 'export const half = (n) => n / 2\n'
const READ = { actions: [], context_requests: [{ type: 'read_file', path: 'src/half.js' }] }
const DIAGNOSIS = { actions: [], summary: 'Диагноз: деление на 3.\n1. Делить на 2.\nПроверка: node --test' }
const UPDATE = { actions: [{ kind: 'UPDATE_FILE', path: 'src/half.js', content: MENDED }], summary: 'Исправлено. Проверка: node --test' }

/** The scenarios of the protocol's version 1 (P-41), by the name of their file. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  '001_fix_bug_plan': { goal: 'plan: исправь half', files: { 'src/half.js': BROKEN }, answers: [['FILE[', DIAGNOSIS], ['исправь half', READ]] },
  '002_fix_bug_apply': { goal: 'plan: исправь half', files: { 'src/half.js': BROKEN }, answers: [['apply\n', UPDATE], ['FILE[', DIAGNOSIS], ['исправь half', READ]], says: ['ok'] },
  '003_generate_project_apply': {
    goal: 'apply: создай проект',
    answers: [['создай проект', { actions: [{ kind: 'CREATE_DIR', path: 'src' }, { kind: 'CREATE_FILE', path: 'src/main.js', content: 'console.log(1)\n' }, { kind: 'CREATE_FILE', path: 'README.md', content: '# Project\n' }], summary: 'Создано. Проверка: node src/main.js' }]]
  },
  '004_protected_path_block': { goal: 'apply: создай настройки', answers: [['', { actions: [{ kind: 'CREATE_FILE', path: '.env', content: 'MODE=test\n' }], summary: 'Создано.' }]] },
  '005_update_without_base_block': { goal: 'plan: исправь half', files: { 'src/half.js': BROKEN }, answers: [['исправь half', DIAGNOSIS], ['', UPDATE]], says: ['ok'] },
  '006_context_diet_applied': {
    goal: 'plan: исправь главы',
    files: Object.fromEntries([1, 2, 3].map(n => [`docs/chapter-${n}.md`, `${`${n} `.repeat(15_000)}\n`])),
    answers: [['FILE[', { actions: [], summary: 'Главы прочитаны. Проверка: нет' }], ['исправь главы', { actions: [], context_requests: [1, 2, 3].map(n => ({ type: 'read_file', path: `docs/chapter-${n}.md` })) }]]
  },
  '007_no_changes_apply': { goal: 'apply: проверь half', files: { 'src/half.js': MENDED }, answers: [['', { actions: [], summary: 'NO_CHANGES: Проверка завершена, правок не требуется.' }]] }
}
