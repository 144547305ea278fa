-- Superseded states, and on each row since when its present one holds.
CREATE TABLE "safety"."equipment_schedule_states" (
	"account_id" text NOT NULL,
	"equipment_id" text NOT NULL,
	"schedule_id" text NOT NULL,
	"status" text,
	"expires_at" timestamp with time zone,
	"expiring_at" timestamp with time zone,
	"last_completed_at" timestamp with time zone,
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone NOT NULL,
	CONSTRAINT "equipment_schedule_states_pk" PRIMARY KEY("account_id","equipment_id","schedule_id","valid_from")
);
--> statement-breakpoint
CREATE TABLE "safety"."equipment_states" (
	"account_id" text NOT NULL,
	"id" text NOT NULL,
	"serial_number" text,
	"equipment_type_id" text,
	"created_at" timestamp with time zone,
	"parent_id" text,
	"field_office_ids" text[],
	"line_of_business_id" text,
	"client_ids" text[],
	"assigned_user_ids" text[],
	"title" text,
	"notes" text,
	"is_in_service" boolean,
	"metavalues" jsonb,
	"status" text,
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone NOT NULL,
	CONSTRAINT "equipment_states_account_id_id_valid_from_pk" PRIMARY KEY("account_id","id","valid_from")
);
--> statement-breakpoint
CREATE TABLE "safety"."followup_states" (
	"account_id" text NOT NULL,
	"id" text NOT NULL,
	"form_id" bigint,
	"response_id" bigint,
	"is_open" boolean,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"observer_id" text,
	"assigner_id" text,
	"assignee_id" text,
	"due_on" date,
	"resolved_at" timestamp with time zone,
	"completer_id" text,
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone NOT NULL,
	CONSTRAINT "followup_states_account_id_id_valid_from_pk" PRIMARY KEY("account_id","id","valid_from")
);
--> statement-breakpoint
CREATE TABLE "safety"."training_employee_status_states" (
	"account_id" text NOT NULL,
	"user_id" text NOT NULL,
	"status" text,
	"percent_complete" numeric,
	"incomplete_training_ids" bigint[],
	"complete_training_ids" bigint[],
	"calculated_at" timestamp with time zone,
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone NOT NULL,
	CONSTRAINT "training_employee_status_states_pk" PRIMARY KEY("account_id","user_id","valid_from")
);
--> statement-breakpoint
CREATE TABLE "safety"."reporting_settings" (
	"account_id" text NOT NULL,
	"timezone" text NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	CONSTRAINT "reporting_settings_account_id_pk" PRIMARY KEY("account_id")
);
--> statement-breakpoint
-- Entity tables end with _raw, _synced_at, _deleted_at, _run_id; so they move behind the new column, as does _hash.
DO $$
DECLARE
	entity record;
BEGIN
	FOR entity IN
		SELECT * FROM (VALUES ('followups', 'updated_at'), ('training_employee_status', 'calculated_at'), ('equipment', null)) AS e (name, since)
	LOOP
		EXECUTE format('ALTER TABLE safety.%I RENAME COLUMN _hash TO _hash_before', entity.name);
		EXECUTE format('ALTER TABLE safety.%I RENAME COLUMN _raw TO _raw_before', entity.name);
		EXECUTE format('ALTER TABLE safety.%I RENAME COLUMN _synced_at TO _synced_at_before', entity.name);
		EXECUTE format('ALTER TABLE safety.%I RENAME COLUMN _deleted_at TO _deleted_at_before', entity.name);
		EXECUTE format('ALTER TABLE safety.%I RENAME COLUMN _run_id TO _run_id_before', entity.name);
		EXECUTE format('ALTER TABLE safety.%I ADD COLUMN _valid_from timestamp with time zone, ADD COLUMN _hash uuid, ADD COLUMN _raw jsonb, ADD COLUMN _synced_at timestamp with time zone, ADD COLUMN _deleted_at timestamp with time zone, ADD COLUMN _run_id bigint', entity.name);
		EXECUTE format('UPDATE safety.%I SET _valid_from = coalesce(%s _synced_at_before), _hash = _hash_before, _raw = _raw_before, _synced_at = _synced_at_before, _deleted_at = _deleted_at_before, _run_id = _run_id_before', entity.name, entity.since || ',');
		EXECUTE format('ALTER TABLE safety.%I DROP COLUMN _hash_before, DROP COLUMN _raw_before, DROP COLUMN _synced_at_before, DROP COLUMN _deleted_at_before, DROP COLUMN _run_id_before, ALTER COLUMN _valid_from SET NOT NULL, ALTER COLUMN _synced_at SET NOT NULL, ALTER COLUMN _run_id SET NOT NULL', entity.name);
	END LOOP;
END
$$;--> statement-breakpoint
ALTER TABLE "safety"."equipment_schedules" ADD COLUMN "_valid_from" timestamp with time zone;--> statement-breakpoint
UPDATE "safety"."equipment_schedules" c SET "_valid_from" = p."_synced_at" FROM "safety"."equipment" p WHERE p."account_id" = c."account_id" AND p."id" = c."equipment_id";--> statement-breakpoint
ALTER TABLE "safety"."equipment_schedules" ALTER COLUMN "_valid_from" SET NOT NULL;
