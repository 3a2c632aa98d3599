import neostandard, { resolveIgnoresFromGitignore } from 'neostandard'

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
    files: ['**/*.ts'],
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }]
    }
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', {
        paths: [
          { name: 'node:http', message: 'An import of it costs a start 40 ms: nodeHttp of src/base/node-http.ts does not.', allowTypeImports: true },
          { name: 'undici', message: 'Its index loads 110 files: src/runtime/undici.ts has its parts.', allowTypeImports: true }
        ]
      }]
    }
  }
]
