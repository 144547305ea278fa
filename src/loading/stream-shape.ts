import { type TableShape, tableShape } from '../database/table-shape.ts';
import type { Coverage, StreamDefinition } from '../streams/stream.ts';

/** The tables of a stream, read off their declarations. */
export interface StreamShape {
  readonly stream: StreamDefinition;
  readonly parent: TableShape;
  readonly children: readonly TableShape[];
}

export function streamShape(stream: StreamDefinition): StreamShape {
  const { histories } = stream;
  return {
    stream,
    parent: tableShape(stream.parent, histories),
    children: stream.children.map((child) => tableShape(child, histories)),
  };
}

/** Of which part of a table everything was read. */
export interface SnapshotScope {
  /** null: the whole account; else the column and its values that were covered. */
  readonly column: string | null;
  /** The child that says what was asked for, in its last column, where `column` of the parent is something else. */
  readonly asked?: TableShape;
  readonly values: readonly string[];
}

export function toSnapshotScope({ partition, name }: StreamDefinition, { parts }: Coverage): SnapshotScope {
  if (parts === null) return { column: null, values: [] };
  if (partition === undefined) throw new TypeError(`${name} is not asked for in parts`);
  return { column: partition.column, asked: tableShape(partition.asked), values: parts };
}
