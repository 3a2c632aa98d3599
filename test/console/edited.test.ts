import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { broughtBack, type Edited, failed, heard, isChanged, joined, opened, refused, resolved, saved, sent, typed } from '../../console/edit/edited.ts'
import { merge } from '../../console/edit/merge.ts'
import { property } from '../helpers/property.ts'

const MERGES: ReadonlyArray<readonly [title: string, base: unknown, mine: unknown, theirs: unknown, merged: unknown]> = [
  ['lines that do not touch', 'a\nb\nc\nd', 'A\nb\nc\nd', 'a\nb\nc\nD', 'A\nb\nc\nD'],
  ['added lines at both ends', 'b\nc', 'a\nb\nc', 'b\nc\nd', 'a\nb\nc\nd'],
  ['the same change twice', 'a', 'b', 'b', 'b'],
  ['members of an object', { a: 1, b: 2 }, { a: 3, b: 2 }, { a: 1, b: 2, c: 4 }, { a: 3, b: 2, c: 4 }],
  ['a removed member', { a: 1, b: 2 }, { b: 2 }, { a: 1, b: 3 }, { b: 3 }],
  ['texts in a list of messages', [{ content: 'a\nb\nc' }], [{ content: 'A\nb\nc' }], [{ content: 'a\nb\nC' }], [{ content: 'A\nb\nC' }]],
  ['a member __proto__', JSON.parse('{"__proto__":1,"a":1}'), JSON.parse('{"__proto__":1,"a":2}'), JSON.parse('{"__proto__":3,"a":1}'), JSON.parse('{"__proto__":3,"a":2}')]
]

const CONFLICTS: ReadonlyArray<readonly [title: string, base: unknown, mine: unknown, theirs: unknown]> = [
  ['the same line', 'a\nb', 'A\nb', 'x\nb'],
  ['lines beside each other', 'a\nb', 'A\nb', 'a\nB'],
  ['two texts added at one place', 'a', 'a\nmine', 'a\ntheirs'],
  ['lists of other lengths', [1], [1, 2], [3]],
  ['a member that is removed and changed', { a: 1 }, {}, { a: 2 }]
]

describe('Two changes of one text', () => {
  for (const [title, base, mine, theirs, merged] of MERGES) {
    it(`are joined: ${title}`, () => { assert.deepEqual(merge(base, mine, theirs), { value: merged, isWhole: true }) })
  }

  for (const [title, base, mine, theirs] of CONFLICTS) {
    it(`are not joined: ${title}`, () => { assert.equal(merge(base, mine, theirs).isWhole, false) })
  }

  it('keep the lines of both where one replaces lines that the other has left', () => {
    assert.deepEqual(merge('a\nb\nc\nd\ne', 'a\nx\ny\nc\nd\ne', 'a\nb\nc\nd'), { value: 'a\nx\ny\nc\nd', isWhole: true })
  })
})

describe('What is edited', () => {
  const start = opened({ value: 'a', tag: '1' })

  it('follows what is stored while nobody has changed it', () => {
    assert.equal(heard(start, { value: 'b', tag: '2' }).mine, 'b')
  })

  it('stays as it was typed when something else is stored', () => {
    const state = heard(typed(start, 'mine'), { value: 'b', tag: '2' })
    assert.deepEqual([state.mine, state.base.tag, state.theirs?.value], ['mine', '1', 'b'])
  })

  it('keeps what was typed while a save was on its way, as a change of what was saved', () => {
    const state = saved(typed(sent(typed(start, 'mine')), 'mine, and more'), '2')
    assert.deepEqual([state.mine, state.base, isChanged(state)], ['mine, and more', { value: 'mine', tag: '2' }, true])
  })

  it('knows its own save again whose reply was lost', () => {
    const state = heard(typed(failed(sent(typed(start, 'mine')), true), 'mine, and more'), { value: 'mine', tag: '2' })
    assert.deepEqual([state.mine, state.base.tag, state.theirs], ['mine, and more', '2', undefined])
  })

  it('meets its own save again whose reply was lost in the refusal of the next one, and in no conflict', () => {
    const doubted = failed(sent(typed(start, 'mine')), true)
    const again = refused(sent(doubted), { value: 'mine', tag: '2' })
    assert.deepEqual([again.mine, again.base.tag, again.isRefused, isChanged(again)], ['mine', '2', false, false])
    const more = refused(sent(typed(doubted, 'mine, and more')), { value: 'mine', tag: '2' })
    assert.deepEqual([more.mine, more.base.tag, more.isRefused, isChanged(more)], ['mine, and more', '2', false, true])
    assert.ok(refused(sent(doubted), { value: 'theirs', tag: '2' }).isRefused)
  })

  it('is chosen between what was shown: something newer comes with the refusal of the choice', () => {
    const shown = refused(sent(typed(start, 'mine')), { value: 'b', tag: '2' })
    assert.deepEqual(heard(shown, { value: 'c', tag: '3' }), shown)
    const chosen = sent(resolved(heard(shown, { value: 'c', tag: '3' }), 'mine'))
    assert.equal(chosen.base.tag, '2')
    assert.equal(refused(chosen, { value: 'c', tag: '3' }).theirs?.value, 'c')
  })

  it('is there again after it was dropped, as a change of what was opened, beside what others have stored since', () => {
    const dropped = typed(start, 'mine')
    assert.deepEqual([broughtBack(start, 'a', dropped)?.mine, broughtBack(start, 'a', dropped)?.base], ['mine', dropped.base])
    const state = broughtBack(opened({ value: 'b', tag: '2' }), 'b', dropped)
    assert.deepEqual([state?.mine, state?.base.tag, state?.theirs], ['mine', '1', { value: 'b', tag: '2' }])
  })

  it('is not brought back over what was typed after it was dropped', () => {
    assert.equal(broughtBack(typed(start, 'newer'), 'a', typed(start, 'mine')), undefined)
  })

  // Two people edit one text that a service stores: each types, saves and hears in any order, and replies are lost.
  property('loses no text of either person, whatever comes between', 1000, given => {
    let conflicts = 0
    given.holds(fc.property(fc.array(fc.tuple(fc.nat(1), fc.constantFrom('type', 'send', 'answer', 'lose', 'hear', 'join', 'mine')), { minLength: 1, maxLength: 200, size: 'max' }), steps => {
      const service = { value: 'line\n', tag: 1 }
      const stored = () => ({ value: service.value, tag: String(service.tag) })
      const people = [0, 1].map(() => ({ state: opened(stored()) as Edited<string>, arrived: undefined as string | undefined, isTaken: false }))
      const words: string[] = []
      for (const [who, step] of steps) {
        const person = people[who] as typeof people[0]
        const { state } = person
        if (step === 'type') {
          const word = `w${words.length}of${who};`
          words.push(word)
          person.state = typed(state, `${state.mine}${word}\n`)
        } else if (step === 'send' && state.sent === undefined && !state.isRefused && isChanged(state)) {
          person.state = sent(state)
          person.isTaken = state.base.tag !== String(service.tag)
          if (!person.isTaken) Object.assign(service, { value: state.mine, tag: service.tag + 1 })
          person.arrived = String(service.tag)
        } else if ((step === 'answer' || step === 'lose') && state.sent !== undefined) {
          person.state = step === 'lose' ? failed(state, true) : person.isTaken ? refused(state, stored()) : saved(state, person.arrived)
          if (person.state.isRefused) conflicts++
        } else if (step === 'hear') person.state = heard(state, stored())
        else if (step === 'join' && state.isRefused) person.state = resolved(state, joined(state) ?? state.mine + String(state.theirs?.value))
      }
      // Each word is in the service, or still with one of the two who typed it.
      const all = [service.value, ...people.map(({ state }) => state.mine)].join('')
      for (const word of words) assert.ok(all.includes(word), `${word} is gone`)
    }))
    assert.ok(conflicts > 0)
  })
})
