import regexp from 'eslint-plugin-regexp'
import neostandard, { resolveIgnoresFromGitignore } from 'neostandard'

/** Rooms in which no line is longer than 160 columns; others are added as they are done. */
const WRAPPED = [
  'access', 'base', 'cli', 'config', 'engine', 'exec', 'files', 'http', 'llm', 'observe', 'registry', 'runtime', 'service', 'session', 'store',
  'template', 'tool', 'workers'
]

/** Lines that may be longer: a description in a schema or a table, and a line that is nothing but a text. */
const TEXT_LINE = '^\\s*(?:(?:[\\w\'\\-]+: )?[\'"\x60]|.*\\b(?:description|help|summary): [\'"\x60])'

/** The parts of a request, and their usual names in a handler. */
const PART = '/^(?:body|query|params|frame|request)$/'

/** What stands around a part, as in `request.body ?? {}` and `body as Wanted`. */
const AROUND = ':matches(LogicalExpression, ConditionalExpression, TSAsExpression, TSNonNullExpression)'

/**
 * What takes over members of a request that nobody has named: a spread of it, or the rest of it. Members that no schema names would reach
 * internal code, which trusts some of its members.
 */
const UNNAMED_MEMBERS = [
  ...[`Identifier[name=${PART}]`, `MemberExpression[property.name=${PART}]`].flatMap(part => [
    `SpreadElement > ${part}`,
    `SpreadElement > ${AROUND} > ${part}`,
    `CallExpression[callee.object.name='Object'][callee.property.name=/^(?:assign|entries)$/] > ${part}.arguments`
  ]),
  ...['init', 'init.left', 'init.expression'].flatMap(init => [`${init}.name`, `${init}.property.name`]).map(name => {
    return `VariableDeclarator[${name}=${PART}] > ObjectPattern > RestElement`
  }),
  `Property[key.name=${PART}] > ObjectPattern > RestElement`,
  `Property[key.name=${PART}] > AssignmentPattern > ObjectPattern > RestElement`
]

export default [
  ...neostandard({ ts: true, ignores: resolveIgnoresFromGitignore() }),
  {
    rules: {
      complexity: ['error', 20],
      'max-depth': ['error', 3],
      // `void` says that a promise is left to itself on purpose.
      'no-void': ['error', { allowAsStatement: true }]
    }
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }]
    }
  },
  {
    // Strangers write the texts: an expression that goes back, or begins anew at each place, stops the process for all (test/linear-time.test.ts).
    files: ['src/**/*.ts', 'console/**/*.{ts,tsx}'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential' }]
    }
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', {
        paths: [
          { name: 'node:http', message: 'An import of it costs a start 40 ms: nodeHttp of src/runtime/http-modules.ts does not.', allowTypeImports: true },
          { name: 'undici', message: 'Its index loads 110 files: src/runtime/http-modules.ts has its parts.', allowTypeImports: true }
        ]
      }]
    }
  },
  {
    files: ['src/http/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', ...UNNAMED_MEMBERS.map(selector => ({
        selector,
        message: 'Name the members that are taken from a request; what goes on to a model goes through passedOn of src/http/validation.ts.'
      }))]
    }
  },
  {
    files: [...WRAPPED.map(room => `src/${room}/**/*.ts`), 'src/service.ts', 'src/warm-up.ts', 'console/**/*.{ts,tsx}'],
    // Tables of texts, and outlines of drawings.
    ignores: ['src/registry/diagnostic-table.ts', 'console/text/{en,ru}/*.ts', 'console/parts/icons.tsx'],
    rules: {
      '@stylistic/max-len': ['error', { code: 160, ignoreUrls: true, ignoreRegExpLiterals: true, ignorePattern: TEXT_LINE }]
    }
  }
]
