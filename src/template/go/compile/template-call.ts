import { type LinkedPartial } from '../../language.ts'
import { Absent } from '../../value.ts'
import { quoteText } from '../fmt/quote.ts'
import { type TemplateNode } from '../syntax/node.ts'
import { type GoValue, toPlain } from '../value/go-value.ts'
import { type Block, type Body, type Expression, type Write } from './code.ts'
import { compilePipe, pathOfPipe } from './expression.ts'
import { toShared } from './held-bytes.ts'
import { type Machine } from './machine.ts'
import { traceBody } from './tracing.ts'
import { traceArgument } from './tracing-paths.ts'
import { type Context, failure, placeOf } from './unit.ts'

/** `{{template "name" argument}}`: a body of the same source, else a partial. */
export function compileTemplateCall (context: Context, node: TemplateNode): Block {
  const argument = node.pipe === undefined ? undefined : compilePipe(context, node.pipe)
  const body = context.unit.bodies.get(node.name)
  const { explain } = context.unit
  const plain = argumentOf(context, node, argument)
  const pass = explain ? traceArgument(plain, node.pipe && pathOfPipe(context, node.pipe)) : plain
  const write = body !== undefined
    ? writeBody(context, node, body, pass)
    : context.unit.rules.openNames ? writePartial(context, node, pass) : undefinedTemplate(context, node)
  return { write, assigns: argument?.assigns ?? [], jumps: 0, size: (argument?.size ?? 0) + 1 }
}

type Pass = (machine: Machine, dot: GoValue) => GoValue

/** What a template is called with: lazy values stay lazy, what is missing is a miss. */
function argumentOf (context: Context, node: TemplateNode, argument: Expression | undefined): Pass {
  if (argument === undefined) return () => context.unit.hasGoValues ? undefined : null
  const at = placeOf(context, node.pipe ?? node)
  return (machine, dot) => {
    const value = argument.evaluate(machine, dot)
    return value instanceof Absent ? machine.run.miss(value, at) : value
  }
}

function writeBody (context: Context, node: TemplateNode, body: Body, pass: Pass): Write {
  const most = context.unit.rules.maxTemplateDepth
  const blocks = context.scope.depth
  const traced = context.unit.explain ? traceBody(body) : undefined
  const enter = (machine: Machine): void => {
    if (most === undefined) machine.run.enter(blocks)
    else if (machine.depth++ === most) throw failure(context, node, `exceeded maximum template depth (${most})`)
  }
  const leave = (machine: Machine): void => {
    if (most === undefined) machine.run.leave(blocks)
    else machine.depth--
  }
  return (machine, dot) => {
    enter(machine)
    const argument = pass(machine, dot)
    const { variables, boxes } = machine
    machine.variables = new Array<GoValue>(body.slots)
    machine.variables[0] = argument
    if (context.unit.hasGoValues) machine.boxes = []
    const text = traced === undefined ? body.write(machine, argument) : traced(machine, argument)
    machine.variables = variables
    machine.boxes = boxes
    leave(machine)
    return text
  }
}

function undefinedTemplate (context: Context, node: TemplateNode): Write {
  return () => {
    throw failure(context, node, `template ${quoteText(node.name)} not defined`)
  }
}

/** A prompt used as a partial, in its own language. */
function writePartial (context: Context, node: TemplateNode, pass: Pass): Write {
  const slot = context.unit.links.get(node) as number
  const blocks = context.scope.depth
  return (machine, dot) => {
    const value = pass(machine, dot)
    const link = machine.links[slot] as LinkedPartial
    const { template, write, root } = ((machine.partials ??= [])[slot] ??= machine.run.partial(link, machine.root))
    // The root given on is the partial's own: its variables have the partial's defaults below them.
    const argument = value === machine.root ? root : template.syntax === 'go' ? toPlain(value) : toShared(machine, value)
    const { run } = machine
    const { within } = run
    run.enter(blocks)
    run.within = link.id
    const text = write(argument, true)
    run.within = within
    run.leave(blocks)
    return text
  }
}
