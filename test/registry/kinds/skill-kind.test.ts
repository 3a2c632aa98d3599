import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contentTag } from '../../../src/registry/kinds/entry-kind.ts'
import { type RejectedEntry } from '../../../src/registry/diagnostic.ts'
import { skillKind, type SkillDefinition } from '../../../src/registry/kinds/skill-kind.ts'
import { wholeSkillText } from '../../../src/registry/kinds/skill-definition.ts'

const read = (text: string) => skillKind.define('git.quick-commit', skillKind.decode(text).value, 'direct')

describe('A skill', () => {
  it('is the text of a SKILL.md', () => {
    const { name, description, body, isTemplate, source, diagnostics } = read('---\nname: commit\ndescription: "Commits: all"\ntemplate: true\nmetadata:\n  author: team\n---\n# What I do\n\n---\nCommit.\n')
    assert.deepEqual({ name, description, body, isTemplate, metadata: source['metadata'], diagnostics }, { name: 'commit', description: 'Commits: all', body: '# What I do\n\n---\nCommit.\n', isTemplate: true, metadata: { author: 'team' }, diagnostics: [] })
  })

  it('is the same as JSON, down to its tag', () => {
    const text = '---\r\nname: commit\r\ndescription: Commits\r\n---\r\nDo it.'
    const json = JSON.stringify({ body: 'Do it.', description: 'Commits', name: 'commit' })
    assert.equal(read(text).hash, read(json).hash)
    assert.equal(contentTag(skillKind, text), contentTag(skillKind, json))
    assert.equal(contentTag(skillKind, text), contentTag(skillKind, JSON.stringify(text)))
  })

  it('is called as its key ends, where it has no name', () => {
    assert.deepEqual([read('{"body":"x","description":"d"}').name, read('---\ndescription: d\n---\nx').name, read('---\nname: 7\ndescription: d\n---\nx').name], ['quick-commit', 'quick-commit', 'quick-commit'])
  })

  const settings: ReadonlyArray<readonly [title: string, fields: string, setting: object]> = [
    ['nothing', 'name: a', {}],
    ['all of it', 'params: [{ name: day, description: Which, required: true }, { name: hour }]\nhistory_mode: last_n\nhistory_max: 4\nexecution: auto\ntarget: here\nmaxSteps: 7\nprotocol: text\ntimeout: 600\nlanguage: ru',
      { params: [{ name: 'day', description: 'Which', required: true }, { name: 'hour', description: '', required: false }], history: 'last_n', historyMax: 4, execution: 'auto', target: 'here', maxSteps: 7, protocol: 'text', timeout: 600, language: 'ru' }],
    ['texts in metadata', 'metadata: { history_mode: system_only, history_max: "3", execution: manual, maxSteps: "9", protocol: text, timeout: "30" }', { history: 'system_only', historyMax: 3, execution: 'manual', maxSteps: 9, protocol: 'text', timeout: 30 }],
    ['a field and metadata', 'maxSteps: 5\nmetadata: { maxSteps: "9" }', { maxSteps: 5 }],
    ['nonsense', 'params: [7, { name: "" }, { name: [] }]\nhistory_mode: some\nhistory_max: 0\nexecution: root\ntarget: [a]\nmaxSteps: 101\nprotocol: xml\ntimeout: 601\nlanguage: de', {}],
    ['names that every object has', 'metadata: { toString: x }', {}]
  ]
  for (const [title, fields, setting] of settings) {
    it(`is run as its fields say: ${title}`, () => {
      assert.deepEqual(read(`---\ndescription: x\n${fields}\n---\nDo it.`).options, { params: [], history: 'full', historyMax: 10, execution: '', target: '', maxSteps: 100, protocol: 'tools', timeout: 120, language: '', ...setting })
    })
  }

  const unusable: ReadonlyArray<readonly [string, string, RegExp]> = [
    ['no front matter', 'Do it.', /^FRONT_MATTER: there is no front matter/],
    ['no front matter, and braces', '{{x}} Do it.', /^FRONT_MATTER: there is no front matter/],
    ['front matter without an end', '---\nname: a\nDo it.', /^FRONT_MATTER: the front matter is not closed/],
    ['empty front matter', '---\n---\nDo it.', /^FRONT_MATTER: the front matter is empty/],
    ['front matter that is no YAML', '---\nname: "a\n---\nDo it.', /^FRONT_MATTER: the front matter is not usable YAML/],
    ['front matter that nests without end', `---\n${'['.repeat(50_000)}\n---\nDo it.`, /^FRONT_MATTER: the front matter is not usable YAML: nested deeper than 100/],
    ['front matter that is a list', '---\n- a\n---\nDo it.', /^FRONT_MATTER: the front matter is no map/],
    ['no description', '---\nname: a\n---\nDo it.', /^SCHEMA: needs "description"/],
    ['an empty description', '---\ndescription: " "\n---\nDo it.', /^SCHEMA: needs "description"/],
    ['a description that is no text', '---\ndescription: 7\n---\nDo it.', /^SCHEMA: needs "description"/]
  ]
  for (const [what, text, reason] of unusable) {
    it(`S-45 with ${what} is not offered, with the reason`, () => {
      assert.throws(() => read(text), ({ diagnostics }: RejectedEntry) => {
        assert.deepEqual(diagnostics.map(({ severity }) => severity), ['error'])
        return reason.test(`${diagnostics[0]?.code}: ${diagnostics[0]?.message}`)
      })
    })
  }

  const odd: ReadonlyArray<readonly [string, string, RegExp]> = [
    ['a name in capitals', '---\nname: Git Commit\ndescription: d\n---\nDo it.', /^SCHEMA: name must match/],
    ['a misspelt field', '---\ndescription: d\nlicence: x\n---\nDo it.', /^FIELD_UNKNOWN: "licence"/],
    ['a timeout that is too long', '---\ndescription: d\ntimeout: 601\n---\nDo it.', /^SCHEMA: timeout must/],
    ['a description that is too long', `---\ndescription: ${'d'.repeat(1025)}\n---\nDo it.`, /^SCHEMA: description must not have more than 1024/],
    ['no body', '---\nname: a\ndescription: d\n---\n', /^SCHEMA: body must not be empty/]
  ]
  for (const [what, text, warning] of odd) {
    it(`with ${what} is offered, with a warning`, () => {
      const { diagnostics } = read(text)
      assert.deepEqual(diagnostics.map(({ severity }) => severity), ['warning'])
      assert.match(`${diagnostics[0]?.code}: ${diagnostics[0]?.message}`, warning)
    })
  }

  it('says where its front matter is wrong, counted in the file', () => {
    assert.throws(() => read('---\nname: a\nname: b\n---\nDo it.'), ({ diagnostics: [diagnostic] }: RejectedEntry) => {
      assert.deepEqual([diagnostic?.line, diagnostic?.column], [3, 1])
      return true
    })
  })

  it('S-33 is shown whole, as it is stored', () => {
    const text = '---\r\n# who wrote it\r\nname: commit\r\ndescription: Commits\r\n---\r\nDo it.\n'
    const whole = ({ head, source }: SkillDefinition): string => wholeSkillText(head, source)
    assert.equal(whole(read(text)), text)
    assert.equal(whole(read('{"body":"Do it.","description":"Commits: all","params":[{"name":"day"}]}')), '---\ndescription: "Commits: all"\nparams: [{"name":"day"}]\n---\nDo it.')
  })

  for (const text of ['{"name":"a"}', '{"body":"x"}', '{"body":7}', '[]', '{"body":"x","description":"d","name":"Git Commit"}', '{"body":"x","description":"d","maxSteps":101}', '{"body":"x","description":"d","execution":"root"}', '{"body":"x","description":"d","timeout":601}', '{"body":"x","description":"d","protocol":"xml"}']) {
    it(`is refused as ${text}`, () => {
      assert.throws(() => read(text), { name: 'RejectedEntry' })
    })
  }
})
