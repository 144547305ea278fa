import { defineConfig } from 'drizzle-kit';

/** `npm run migrations:generate` compares these tables with the last migration and writes the next one. */
export default defineConfig({
  dialect: 'postgresql',
  schema: [
    './src/streams/*.ts',
    './src/database/control-tables.ts',
    './src/database/reporting.ts',
    './src/database/calendar.ts',
    './src/database/labels.ts',
    './src/database/followup-days.ts',
  ],
  out: './migrations',
  schemaFilter: ['safety', 'safety_sync'],
});
