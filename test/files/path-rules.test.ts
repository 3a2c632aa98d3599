import assert from 'node:assert/strict'
import { posix, win32 } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { DEFAULT_WHITELIST, isForbidden, isProtected, isWhitelisted, MAX_PATH, normalisePath } from '../../src/files/path-rules.ts'
import { property } from '../helpers/property.ts'

/** Paths made of what is dangerous in them. */
const paths = fc.array(fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('..', '.', '/', '\\', '~', 'C:', ' ', '\0', '\n', 'a', 'src', '.git', '.env', 'é', 'e\u0301', '\u202E', '\uD800', '%2e%2e', '。') },
  fc.string({ unit: 'binary', maxLength: 4 })
), { maxLength: 12 }).map(parts => parts.join(''))

describe('normalisePath', () => {
  for (const [text, path] of [
    ['README.md', 'README.md'],
    ['./src/app.ts', 'src/app.ts'],
    ['src\\app.ts', 'src/app.ts'],
    ['.\\src\\app.ts', 'src/app.ts'],
    ['src/', 'src'],
    ['.gitignore', '.gitignore'],
    ['a b/ö…~/x:y', 'a b/ö…~/x:y'],
    ['.../..a', '.../..a'],
    ['a'.repeat(MAX_PATH), 'a'.repeat(MAX_PATH)],
    ['😀'.repeat(MAX_PATH), '😀'.repeat(MAX_PATH)]
  ] as const) {
    it(`gives ${JSON.stringify(text.slice(0, 20))} its one form`, () => { assert.deepEqual(normalisePath(text), { path }) })
  }

  for (const [title, text] of [
    ['nothing', ''], ['a dot', '.'], ['a dot and a slash', './'], ['two dots', '..'], ['blanks', '  '],
    ['an absolute path', '/etc/passwd'], ['a UNC path', '//server/share'], ['a UNC path with backslashes', '\\\\server\\share'], ['an absolute path behind a dot', './/etc'],
    ['a drive', 'C:/x'], ['a drive with a backslash', 'c:\\x'], ['a drive alone', 'C:x'], ['a drive behind a dot', './C:/x'],
    ['a home', '~'], ['a file of a home', '~/x'], ['another home', '~root/x'],
    ['a way up', '../x'], ['a way up inside', 'a/../x'], ['a way up at the end', 'a/..'], ['a way up with a blank', 'a/.. /x'], ['a way up with backslashes', 'a\\..\\x'],
    ['a dot inside', 'a/./x'], ['two dots at the beginning', '././x'], ['an empty part', 'a//x'], ['two slashes at the end', 'a//'],
    ['NUL', 'a\0b'], ['a line', 'a\nb'], ['DEL', 'a\x7Fb'], ['a C1 control character', 'a\x9Bb'], ['half of a character', 'a\uD800']
  ] as const) {
    it(`refuses ${title}`, () => {
      const result = normalisePath(text)
      assert.equal('code' in result ? result.code : undefined, 'ERR_INVALID_PATH')
    })
  }

  it('refuses a path that is one character too long', () => {
    for (const letter of ['a', '😀']) assert.equal((normalisePath(letter.repeat(MAX_PATH + 1)) as { code?: string }).code, 'ERR_PATH_TOO_LONG')
  })

  property('lets nothing out of the folder, however it is written', 10_000, given => {
    given.holds(fc.property(paths, text => {
      const result = normalisePath(text)
      if (!('path' in result)) return
      for (const { resolve, sep } of [posix, win32]) {
        const root = resolve('/work/root')
        assert.ok(resolve(root, result.path).startsWith(root + sep), result.path)
      }
    }))
  })

  property('has nothing more to do on what it has given', 2000, given => {
    given.holds(fc.property(paths, text => {
      const result = normalisePath(text)
      if ('path' in result) assert.deepEqual(normalisePath(result.path), result)
    }))
  })
})

describe('isProtected', () => {
  for (const path of [
    '.env', 'a/.env', '.ENV', '.env/x', '.env.local', '.env.production', 'cert.pem', 'a/CERT.PEM', 'x.key', 'x.p12', '.key', 'id_rsa', 'id_rsa.pub', 'ID_RSA_old',
    'secrets', 'secrets/x', 'a/secrets/b/c.txt', 'a/Secrets/b', '.git', '.git/config', 'a/.git/hooks/x', '.GIT/config', '.papa-yu/project.json', '.ai-prompt-shell/x',
    '.env.', '.env ', '.env::$DATA', 'a/.git./x', '.g\u200Cit/config', '\u017Fecrets/x', 'x.\u212Aey'
  ]) it(`holds of ${JSON.stringify(path)}`, () => { assert.ok(isProtected(path)) })

  for (const path of ['.env.example', '.env.sample', 'a/.env.template', 'env', '.environment', 'a.env', 'key', 'keys.ts', 'x.keys', 'pem', 'secret', 'secrets.ts', 'my-secrets/x', '.gitignore', '.github/workflows/x.yml', 'git/x', 'id_rs']) {
    it(`does not hold of ${JSON.stringify(path)}`, () => { assert.ok(!isProtected(path)) })
  }

  property('holds whatever the case and wherever the name stands', 100, given => {
    const names = fc.constantFrom('.env', 'x.pem', 'x.key', 'x.p12', 'id_rsa', 'id_rsa.old', 'secrets', '.git', '.papa-yu', '.ai-prompt-shell')
    const mixed = fc.tuple(names, fc.nat()).map(([name, upper]) => Array.from(name, (letter, index) => upper >> index & 1 ? letter.toUpperCase() : letter).join(''))
    given.holds(fc.property(fc.array(fc.constantFrom('a', 'src', 'b.c')), mixed, fc.array(fc.constantFrom('a', 'x.ts')), (before, name, after) => isProtected([...before, name, ...after].join('/'))))
  })
})

describe('isWhitelisted', () => {
  const { allowed_extensions: extensions, allowed_no_extension: names } = DEFAULT_WHITELIST

  it('holds of every extension and name of the list, in a folder too', () => {
    for (const path of [...extensions.map(extension => `x${extension}`), ...names]) {
      assert.ok(isWhitelisted(path, DEFAULT_WHITELIST), path)
      assert.ok(isWhitelisted(`a/b/${path}`, DEFAULT_WHITELIST), path)
    }
  })

  for (const path of ['.env.example', 'README.MD', 'a.test.ts']) it(`holds of ${path}`, () => { assert.ok(isWhitelisted(path, DEFAULT_WHITELIST)) })

  for (const path of ['x', 'x.exe', 'x.tsz', 'x.py.bak', 'READMEx', 'md', 'x.env', '.env', 'a/.env/x.ts', 'x.key', 'x.pem/y.ts', 'node_modules/x.js', 'a/Node_Modules/x.js', '.git/x.json', '__pycache__/x.py', '..x.ts', '/x.ts']) {
    it(`does not hold of ${path}`, () => { assert.ok(!isWhitelisted(path, DEFAULT_WHITELIST)) })
  }

  it('holds of no folder by its name, which isForbidden is for', () => {
    assert.ok(!isWhitelisted('src', DEFAULT_WHITELIST))
    assert.ok(!isForbidden('src/x', DEFAULT_WHITELIST))
    assert.ok(isForbidden('src/node_modules', DEFAULT_WHITELIST))
  })

  it('takes the pattern of a list literally but for its stars', () => {
    const whitelist = { ...DEFAULT_WHITELIST, forbidden_paths: ['a+b(*).ts'] }
    assert.ok(isForbidden('a+b(1).ts', whitelist))
    assert.ok(!isForbidden('aab1xts', whitelist))
  })
})
