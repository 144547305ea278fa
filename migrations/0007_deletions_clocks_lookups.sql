CREATE TABLE "safety"."equipment_asked_types" (
	"account_id" text NOT NULL,
	"equipment_id" text NOT NULL,
	"asked_type_id" text NOT NULL,
	CONSTRAINT "equipment_asked_types_account_id_equipment_id_pk" PRIMARY KEY("account_id","equipment_id")
);
--> statement-breakpoint
ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "backfill_clock_offset_ms" bigint;--> statement-breakpoint
ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "clock_offset_ms" bigint;--> statement-breakpoint
ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "older_since" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "safety_sync"."stream_state" ADD COLUMN "keyless" jsonb;--> statement-breakpoint
ALTER TABLE "safety_sync"."user_lookups" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "safety_sync"."user_lookups" ADD COLUMN "last_error" text;--> statement-breakpoint
ALTER TABLE "safety"."equipment_asked_types" ADD CONSTRAINT "equipment_asked_types_equipment_fk" FOREIGN KEY ("account_id","equipment_id") REFERENCES "safety"."equipment"("account_id","id") ON DELETE cascade ON UPDATE no action;