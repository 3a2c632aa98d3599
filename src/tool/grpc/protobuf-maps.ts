import { type AnyNestedObject, type IField, type IMapField, type INamespace, type IType } from 'protobufjs'

/**
 * Restores the maps in a service description. A descriptor stores a map as a repeated nested message of `{ key, value }`, and protobufjs
 * leaves it so: https://protobuf.dev/programming-guides/proto3/#backwards
 */
export function restoreMaps<T extends INamespace> (described: T): T {
  const nested = Object.entries(described.nested ?? {}).map(([name, member]) => [name, restore(member)])
  return { ...described, nested: Object.fromEntries(nested) }
}

function restore (member: AnyNestedObject): AnyNestedObject {
  if (isMessage(member)) return restoreMaps(restoreFields(member))
  return 'nested' in member ? restoreMaps(member as INamespace) : member
}

function restoreFields (message: IType): IType {
  const entries = new Map(Object.entries(message.nested ?? {}).filter((entry): entry is [string, IType] => isMessage(entry[1]) && isMapEntry(entry[1])))
  const fields = Object.entries(message.fields).map(([name, field]) => [name, restoreField(field, entries)])
  const nested = Object.entries(message.nested ?? {}).filter(([name]) => !entries.has(name))
  return { ...message, fields: Object.fromEntries(fields), nested: Object.fromEntries(nested) }
}

function restoreField (field: IField, entries: ReadonlyMap<string, IType>): IField | IMapField {
  const entry = field.rule === 'repeated' ? entries.get(field.type.split('.').at(-1) as string)?.fields : undefined
  return entry === undefined ? field : { id: field.id, keyType: (entry['key'] as IField).type, type: (entry['value'] as IField).type }
}

function isMessage (member: AnyNestedObject): member is IType {
  return 'fields' in member
}

function isMapEntry ({ options, fields }: IType): boolean {
  const names = Object.keys(fields)
  return options?.['map_entry'] === true && names.length === 2 && fields['key']?.id === 1 && fields['value']?.id === 2
}
