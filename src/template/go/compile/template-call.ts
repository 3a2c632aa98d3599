import { type Position } from '../../position.ts'
import { type LinkedPartial } from '../../language.ts'
import { enterPartial } from '../../run/entered-partial.ts'
import { Absent } from '../../value.ts'
import { type TemplateNode } from '../syntax/node.ts'
import { type GoValue, toPlain } from '../value/go-value.ts'
import { type Block, type Body, Kind, type Write } from './code.ts'
import { compilePipe, pathOfPipe } from './expression.ts'
import { toShared } from './held-bytes.ts'
import { type Machine } from './machine.ts'
import { type Context, placeOf } from './unit.ts'

/** Compiles `{{template "name" argument}}`: the call of a template that the same source defines, otherwise of a partial (another prompt). */
export function compileTemplateCall (context: Context, node: TemplateNode): Block {
  const argument = node.pipe === undefined ? undefined : compilePipe(context, node.pipe)
  const body = context.unit.bodies.get(node.name)
  const write = body === undefined ? writePartial(context, node) : writeBody(context, node, body)
  return {
    evaluate: argument?.evaluate ?? (() => null),
    path: node.pipe && pathOfPipe(context, node.pipe),
    kind: Kind.Other,
    write: context.unit.tracing.call(write),
    assigns: argument?.assigns ?? [],
    jumps: 0,
    size: (argument?.size ?? 0) + 1
  }
}

function writeBody (context: Context, node: TemplateNode, body: Body): Write {
  const blocks = context.scope.depth
  const writeInside = context.unit.tracing.body(body)
  const at = placeOf(context, node.pipe ?? node)
  return (machine, _dot, value, before) => {
    machine.run.enter(blocks)
    const argument = argumentOf(machine, value, at)
    const { variables } = machine
    machine.variables = new Array<GoValue>(body.slots)
    machine.variables[0] = argument
    const text = writeInside(machine, argument, before)
    machine.variables = variables
    machine.run.leave(blocks)
    return text
  }
}

/** Makes the closure that runs another prompt as a partial and writes its output. That prompt can be in the other template language. */
function writePartial (context: Context, node: TemplateNode): Write {
  const slot = context.unit.links.get(node) as number
  const blocks = context.scope.depth
  const at = placeOf(context, node.pipe ?? node)
  return (machine, _dot, value, before) => {
    const known = argumentOf(machine, value, at)
    const { run, root: outer } = machine
    const { id, template: { syntax }, write, root } = ((machine.partials ??= [])[slot] ??= enterPartial(run, machine.links[slot] as LinkedPartial, outer))
    // The partial gets a scope root of its own. There, variables that the caller has left out have the defaults that the partial declares.
    const argument = known === outer ? root : syntax === 'go' ? toPlain(known) : toShared(machine, known)
    const { within } = run
    run.enter(blocks)
    run.within = id
    const text = write(argument, before)
    run.within = within
    run.leave(blocks)
    return text
  }
}

/** The argument with which a template is called. A `LazyNode` is not read here, and an absent value is noted as missing. */
function argumentOf ({ run }: Machine, value: GoValue, at: Position): GoValue {
  return value instanceof Absent ? run.miss(value, at) : value
}
