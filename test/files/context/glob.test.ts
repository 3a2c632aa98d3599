import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { gitignoreIn, isIgnored } from '../../../src/files/search.ts'
import { globOf } from '../../../src/files/glob.ts'
import { property } from '../../helpers/property.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'

const PATHS = ['a.ts', 'src/a.ts', 'src/a.test.ts', 'src/deep/b.test.tsx', 'src/b.md', 'app/(shop)/page.tsx', '.env.example', 'a+b.md', '[x].md']

const GLOBS: ReadonlyArray<readonly [glob: string, found: readonly string[]]> = [
  ['*.ts', ['a.ts', 'src/a.ts', 'src/a.test.ts']],
  ['./*.md', ['a+b.md', '[x].md']],
  ['/a.ts', ['a.ts']],
  ['src/*.ts', ['src/a.ts', 'src/a.test.ts']],
  ['src/**/*.test.*', ['src/a.test.ts', 'src/deep/b.test.tsx']],
  ['**/*.{ts,tsx}', ['a.ts', 'src/a.ts', 'src/a.test.ts', 'src/deep/b.test.tsx', 'app/(shop)/page.tsx']],
  ['{src/{a,b},a}.{ts,md}', ['a.ts', 'src/a.ts', 'src/b.md']],
  ['src/**', ['src/a.ts', 'src/a.test.ts', 'src/deep/b.test.tsx', 'src/b.md']],
  ['app/(shop)/*', ['app/(shop)/page.tsx']],
  ['?+[a-c].md', ['a+b.md']],
  ['[[]x].md', ['[x].md']],
  ['\\[x].md', ['[x].md']],
  ['[!a-z]*', ['.env.example', '[x].md']],
  ['!**/*.{ts,tsx}', ['src/b.md', '.env.example', 'a+b.md', '[x].md']],
  ['a{b}', []],
  ['{a.ts', []]
]

describe('A glob', () => {
  for (const [glob, found] of GLOBS) {
    it(`finds ${found.length} of ${PATHS.length} paths: ${glob}`, () => { assert.deepEqual(PATHS.filter(path => globOf(glob)?.(path)), found) })
  }

  for (const glob of ['a'.repeat(201), '{a,b}'.repeat(7), '{'.repeat(60) + 'a,b}'.repeat(40)]) {
    it(`is refused, or matched at once: ${glob.slice(0, 20)}…`, () => { assert.doesNotThrow(() => globOf(glob)?.(glob)) })
  }
})

describe('A .gitignore', () => {
  const part = fc.oneof(fc.constantFrom('*', '**', '?', '[ab]', '[!a]', 'a', 'b', 'ab', '/', '/', '\\*', ' ', '\\ ', '!', '#', '.'), fc.constantFrom('a/b', '**/', '/**', '*.a'))
  const line = fc.array(part, { minLength: 1, maxLength: 5 }).map(parts => parts.join('')).filter(text => !isGlued(text))
  const name = fc.array(fc.constantFrom('a', 'b', '.', '*', ' ', '#', 'c'), { minLength: 1, maxLength: 3 }).map(parts => parts.join('')).filter(text => !/^\.+$/.test(text))
  const path = fc.array(name, { minLength: 1, maxLength: 3 })

  property('ignores what git ignores', 40, async given => {
    const folder = await createTemporaryFolder()
    execFileSync('git', ['init', '-q', folder.path])
    try {
      given.holds(fc.property(fc.array(line, { minLength: 1, maxLength: 3 }), fc.array(path, { minLength: 20, maxLength: 20 }), (lines, paths) => {
        writeFileSync(join(folder.path, '.gitignore'), lines.join('\n'))
        const whole = [...new Set(paths.map(names => names.join('/')))]
        const rules = gitignoreIn(folder.path, '', [])
        const isSeen = (names: readonly string[]): boolean => names.every((_, index) => !isIgnored([rules], names.slice(0, index + 1).join('/'), index + 1 < names.length))
        const ours = whole.filter(each => !isSeen(each.split('/')))
        assert.deepEqual(ours.sort(), ignoredByGit(folder.path, whole).sort(), JSON.stringify(lines))
      }))
    } finally {
      await folder.remove()
    }
  })
})

/** Whether `**` stands beside other characters: what that means to git depends on its version. */
function isGlued (line: string): boolean {
  return line.split('/').some(part => part.includes('**') && /[^*]/.test(part))
}

function ignoredByGit (folder: string, paths: readonly string[]): string[] {
  try {
    return execFileSync('git', ['check-ignore', '--no-index', '-z', '--stdin'], { cwd: folder, input: paths.join('\0'), encoding: 'utf8' }).split('\0').filter(path => path !== '')
  } catch (error) {
    if ((error as { readonly status: number }).status === 1) return []
    throw error
  }
}
