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

/** `Coverage` in terms of tables: which rows were covered. */
export interface TableCoverage {
  /** The column that names the part; null: the whole account was covered. */
  readonly column: string | null;
  /** The child that says what was asked for, in its last column, where `column` of the parent is something else. */
  readonly asked?: TableShape;
  readonly parts: readonly string[];
}

export function toTableCoverage({ partition, name }: StreamDefinition, { parts }: Coverage): TableCoverage {
  if (parts === null) return { column: null, parts: [] };
  if (partition === undefined) throw new TypeError(`${name} is not asked for in parts`);
  return { column: partition.column, asked: tableShape(partition.asked), parts };
}
