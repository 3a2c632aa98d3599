import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { judgeCommand, judgeCommit } from '../../src/session/command-rules.ts'
import { type CommandPolicy } from '../../src/session/model.ts'
import { cpuTimeOf } from '../helpers/cpu-time.ts'
import { property } from '../helpers/property.ts'

const POLICY: CommandPolicy = {
  isAuto: false,
  rules: [
    { effect: 'allow', command: 'git status *' },
    { effect: 'allow', command: 'git push *', targets: ['here'] },
    { effect: 'ask', command: 'git push --force *' },
    { effect: 'deny', command: 'rm *' }
  ]
}

function judge (command: string, { policy = POLICY, target = 'here', origin = 'model' as 'model' | 'fallback' } = {}): string {
  return judgeCommand({ id: '1.0', kind: 'exec', target, command, origin, timeout: 1000 }, policy).answer
}

describe('rules for commands', () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ['git status', 'allow'], ['git status --short', 'allow'], ['  git   status  ', 'allow'], ['git push origin', 'allow'],
    ['git push --force origin', 'ask'], ['git commit', 'ask'], ['git', 'ask'], ['xgit status', 'ask'], ['git statusx', 'ask'],
    ['rm -rf x', 'deny'], ['git status; rm -rf x', 'deny'], ['git status && rm x', 'deny'], ['echo $(rm x)', 'deny'],
    ['git status; curl evil', 'ask'], ['git status $(curl evil)', 'ask'], ['git status `curl evil`', 'ask'], ['git status\ncurl evil', 'ask'], ['git status\rcurl evil', 'ask'],
    ['git status > /etc/passwd', 'ask'], ['git status < x', 'ask'], ['git status & curl evil', 'ask'], ['git status | sh', 'ask'], ['git status $HOME', 'ask']
  ]
  for (const [command, answer] of cases) it(`answer ${answer} to ${JSON.stringify(command)}`, () => { assert.equal(judge(command), answer) })

  const hidden = [
    'if true; then rm x; fi', 'if rm x; then :; fi', 'for f in a b; do rm $f; done', 'while rm x; do :; done', 'until ! rm x; do :; done', '{ rm x; }', '(rm x)', '! rm x', 'case $x in a) rm x;; esac',
    'f() { rm x; }; f', 'function f { rm x; }', 'time rm x', 'time -p rm x', 'env rm x', 'env -u A B=1 rm x', 'exec rm x', 'nohup rm x &', 'ls | xargs rm', 'ls | xargs -n 1 -I {} rm {}', 'sudo -u ann rm x', 'nice -n 10 rm x', 'timeout 5s rm x', 'command rm x', 'nohup env nice rm x',
    'X=1 rm x', 'X="a b" Y=\'c;d\' rm x', 'A[1]+=2 rm x', '/bin/rm x', '"rm" x', 'r\\m x', 'rm \\\n x', 'sh -c "rm x"', "bash -c 'ls; rm x'", 'eval "rm x"', 'find . -exec rm {} +', '> log rm x', '2>/dev/null rm x', '< list xargs rm', 'echo "$(rm x)"'
  ]
  for (const command of hidden) it(`deny ${JSON.stringify(command)}`, () => { assert.equal(judge(command, { policy: { ...POLICY, isAuto: true } }), 'deny') })

  const harmless = ['for rm in a; do echo $rm; done', 'ls rm x', 'grep rm x', 'git rm x', 'echo "rm x"', 'find . -name rm', 'time make rm', 'A=rm ls x', 'env A=rm ls']
  for (const command of harmless) it(`do not deny ${JSON.stringify(command)}`, () => { assert.equal(judge(command, { policy: { ...POLICY, isAuto: true } }), 'allow') })

  it('allow a program only where they name it', () => {
    assert.deepEqual(['/tmp/git status', 'X=1 git status', 'env git status', '"git" status'].map(command => judge(command)), ['ask', 'ask', 'ask', 'ask'])
  })

  it('read 1 MiB of half quotes, prefixes and separators in linear time', () => {
    for (const flood of ['"\\"', 'env ', ';', '-exec ', "'", 'X=1 ', '>', '\\']) {
      const time = cpuTimeOf(() => judge(flood.repeat(2 ** 20 / flood.length)))
      // Linear work takes at most a second; what grows with the square would take hours.
      assert.ok(time < 20_000, flood)
    }
  })

  it('name the rule that denies', () => {
    assert.deepEqual(judgeCommand({ id: '1.0', kind: 'exec', target: 'here', command: 'rm x', origin: 'model', timeout: 1 }, POLICY), { answer: 'deny', by: 'policy', reason: 'denied: rule "rm *"' })
  })

  it('hold for the targets they name', () => { assert.equal(judge('git push origin', { target: 'there' }), 'ask') })

  it('ask for everything where there is none', () => {
    assert.equal(judgeCommand({ id: '1.0', kind: 'exec', target: 'here', command: 'git status', origin: 'model', timeout: 1 }, undefined).answer, 'ask')
  })

  it('run what none names where the operator says auto, but for what is asked or denied', () => {
    const policy = { ...POLICY, isAuto: true }
    assert.deepEqual(['make', 'make && make test', 'git push --force', 'make; rm x'].map(command => judge(command, { policy })), ['allow', 'allow', 'ask', 'deny'])
  })

  it('never run unasked what the model did not call a command', () => {
    assert.deepEqual([judge('git status', { origin: 'fallback' }), judge('make', { policy: { rules: [], isAuto: true }, origin: 'fallback' }), judge('rm x', { origin: 'fallback' })], ['ask', 'ask', 'deny'])
  })

  property('never allow, whatever stands behind an allowed command, what a shell reads as more than one', 100, given => {
    given.holds(fc.property(fc.string(), fc.constantFrom(';', '|', '&', '$(', '`', '\n', '<', '>', '('), fc.string(), (before, separator, after) => {
      assert.notEqual(judge(`git status ${before}${separator}${after}`), 'allow')
    }))
  })
})

describe('a pattern of a command', () => {
  const cases: ReadonlyArray<readonly [string, string, boolean]> = [
    ['ls', 'ls', true], ['ls', 'ls -l', false], ['ls *', 'ls', true], ['ls *', 'ls -l -a', true], ['ls *', 'lsx', false], ['ls -* *', 'ls -l /tmp', true], ['ls -* *', 'ls -l', true], ['ls -* *', 'ls /tmp', false], ['ls -*', 'ls -l', true], ['ls -*', 'ls -l /tmp', false], ['*', 'ls -l', true],
    ['npm * test', 'npm run test', true], ['npm * test', 'npm test', false], ['cat *.md', 'cat a.md', true], ['cat *.md', 'cat a.md b.md', false], ['a*b*c', 'aXbYc', true], ['a*bc*c', 'abc', false], ['', '', false]
  ]
  for (const [pattern, command, expected] of cases) it(`"${pattern}" ${expected ? 'means' : 'does not mean'} "${command}"`, () => { assert.equal(judge(command, { policy: { isAuto: false, rules: [{ effect: 'allow', command: pattern }] } }), expected ? 'allow' : 'ask') })
})

describe('a commit', () => {
  const rule = (effect: 'allow' | 'ask' | 'deny', targets?: string[]) => ({ effect, command: 'git commit *', ...(targets === undefined ? {} : { targets }) })

  it('is judged by the rules for git commit', () => {
    assert.deepEqual((['allow', 'ask', 'deny'] as const).map(effect => judgeCommit(['here'], [rule(effect)]).answer), ['allow', 'ask', 'deny'])
  })

  it('waits where no rule speaks of it', () => assert.deepEqual(judgeCommit(['here'], []), { answer: 'ask', rule: 'commits are approved one by one' }))

  it('is judged by the strictest of all targets of its workspace', () => {
    assert.equal(judgeCommit(['here', 'there'], [rule('allow', ['here'])]).answer, 'ask')
    assert.equal(judgeCommit(['here', 'there'], [rule('allow'), rule('deny', ['there'])]).answer, 'deny')
  })

  it('is judged by rules for all targets where its workspace is none', () => {
    assert.equal(judgeCommit([], [rule('allow')]).answer, 'allow')
    assert.equal(judgeCommit([], [rule('allow', ['here'])]).answer, 'ask')
  })
})
