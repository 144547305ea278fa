import { makePgArray } from 'drizzle-orm/pg-core';

/** A PostgreSQL array as one text, with any number of values: `{"a","b\"c"}` */
export const toArrayLiteral = makePgArray as (values: readonly (string | number | null)[]) => string;
