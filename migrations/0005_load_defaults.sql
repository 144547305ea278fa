-- Rows that are copied straight into their tables are made text before their transaction begins: PostgreSQL adds its time.
ALTER TABLE "safety"."equipment" ALTER COLUMN "_valid_from" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "safety"."equipment" ALTER COLUMN "_synced_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "safety"."equipment_schedules" ALTER COLUMN "_valid_from" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "safety"."followups" ALTER COLUMN "_valid_from" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "safety"."followups" ALTER COLUMN "_synced_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "safety"."resources" ALTER COLUMN "_synced_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "safety"."training_employee_status" ALTER COLUMN "_valid_from" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "safety"."training_employee_status" ALTER COLUMN "_synced_at" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "safety"."users" ALTER COLUMN "_synced_at" SET DEFAULT now();