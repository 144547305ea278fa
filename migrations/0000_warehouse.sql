CREATE SCHEMA IF NOT EXISTS "safety";
--> statement-breakpoint
CREATE SCHEMA IF NOT EXISTS "safety_sync";
--> statement-breakpoint
CREATE TABLE "safety"."training_records" (
	"account_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"user_id" text collate "C",
	"training_id" bigint,
	"completed_on" date,
	"created_at" timestamp with time zone,
	"expires_on" date,
	"instructor_id" text collate "C",
	"group_training_id" bigint,
	"notes" text,
	"_hash" uuid,
	"_raw" jsonb,
	"_synced_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_run_id" bigint NOT NULL,
	CONSTRAINT "training_records_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "safety"."equipment" (
	"account_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"serial_number" text,
	"equipment_type_id" text collate "C",
	"created_at" timestamp with time zone,
	"parent_id" text collate "C",
	"field_office_ids" text[] collate "C",
	"line_of_business_id" text collate "C",
	"client_ids" text[] collate "C",
	"assigned_user_ids" text[] collate "C",
	"title" text,
	"notes" text,
	"is_in_service" boolean,
	"metavalues" jsonb,
	"assigned_user_id" text collate "C",
	"project_ids" bigint[],
	"status" text,
	"_valid_from" timestamp with time zone DEFAULT now() NOT NULL,
	"_hash" uuid,
	"_raw" jsonb,
	"_synced_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_run_id" bigint NOT NULL,
	CONSTRAINT "equipment_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "safety"."equipment_asked_types" (
	"account_id" text collate "C" NOT NULL,
	"equipment_id" text collate "C" NOT NULL,
	"asked_type_id" text collate "C" NOT NULL,
	CONSTRAINT "equipment_asked_types_account_id_equipment_id_pk" PRIMARY KEY("account_id","equipment_id")
);
--> statement-breakpoint
CREATE TABLE "safety"."equipment_metavalues" (
	"account_id" text collate "C" NOT NULL,
	"equipment_id" text collate "C" NOT NULL,
	"metafield_id" text collate "C" NOT NULL,
	"number_value" numeric,
	"text_value" text,
	"item_ids" bigint[],
	CONSTRAINT "equipment_metavalues_account_id_equipment_id_metafield_id_pk" PRIMARY KEY("account_id","equipment_id","metafield_id")
);
--> statement-breakpoint
CREATE TABLE "safety"."equipment_schedule_states" (
	"account_id" text collate "C" NOT NULL,
	"equipment_id" text collate "C" NOT NULL,
	"schedule_id" text collate "C" NOT NULL,
	"status" text,
	"expires_at" timestamp with time zone,
	"expiring_at" timestamp with time zone,
	"last_completed_at" timestamp with time zone,
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone NOT NULL,
	CONSTRAINT "equipment_schedule_states_pk" PRIMARY KEY("account_id","equipment_id","schedule_id","valid_from")
);
--> statement-breakpoint
CREATE TABLE "safety"."equipment_schedules" (
	"account_id" text collate "C" NOT NULL,
	"equipment_id" text collate "C" NOT NULL,
	"schedule_id" text collate "C" NOT NULL,
	"status" text,
	"expires_at" timestamp with time zone,
	"expiring_at" timestamp with time zone,
	"last_completed_at" timestamp with time zone,
	"_valid_from" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "equipment_schedules_account_id_equipment_id_schedule_id_pk" PRIMARY KEY("account_id","equipment_id","schedule_id")
);
--> statement-breakpoint
CREATE TABLE "safety"."equipment_states" (
	"account_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"serial_number" text,
	"equipment_type_id" text collate "C",
	"created_at" timestamp with time zone,
	"parent_id" text collate "C",
	"field_office_ids" text[] collate "C",
	"line_of_business_id" text collate "C",
	"client_ids" text[] collate "C",
	"assigned_user_ids" text[] collate "C",
	"title" text,
	"notes" text,
	"is_in_service" boolean,
	"metavalues" jsonb,
	"assigned_user_id" text collate "C",
	"project_ids" bigint[],
	"status" text,
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone NOT NULL,
	CONSTRAINT "equipment_states_account_id_id_valid_from_pk" PRIMARY KEY("account_id","id","valid_from")
);
--> statement-breakpoint
CREATE TABLE "safety"."followup_attachments" (
	"account_id" text collate "C" NOT NULL,
	"followup_id" text collate "C" NOT NULL,
	"message_id" text collate "C" NOT NULL,
	"position" integer NOT NULL,
	"key" text,
	"caption" text,
	CONSTRAINT "followup_attachments_pk" PRIMARY KEY("account_id","followup_id","message_id","position")
);
--> statement-breakpoint
CREATE TABLE "safety"."followup_messages" (
	"account_id" text collate "C" NOT NULL,
	"followup_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"position" integer NOT NULL,
	"sent_at" timestamp with time zone,
	"user_id" text collate "C",
	"note" text,
	"reassignee_id" text collate "C",
	"signature" jsonb,
	"notify" boolean,
	CONSTRAINT "followup_messages_account_id_followup_id_id_pk" PRIMARY KEY("account_id","followup_id","id")
);
--> statement-breakpoint
CREATE TABLE "safety"."followup_states" (
	"account_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"form_id" bigint,
	"response_id" bigint,
	"is_open" boolean,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"observer_id" text collate "C",
	"assigner_id" text collate "C",
	"assignee_id" text collate "C",
	"due_on" date,
	"resolved_at" timestamp with time zone,
	"completer_id" text collate "C",
	"is_in_progress" boolean,
	"field_id" text collate "C",
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone NOT NULL,
	CONSTRAINT "followup_states_account_id_id_valid_from_pk" PRIMARY KEY("account_id","id","valid_from")
);
--> statement-breakpoint
CREATE TABLE "safety"."followups" (
	"account_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"form_id" bigint,
	"response_id" bigint,
	"is_open" boolean,
	"created_at" timestamp with time zone,
	"updated_at" timestamp with time zone,
	"observer_id" text collate "C",
	"assigner_id" text collate "C",
	"assignee_id" text collate "C",
	"due_on" date,
	"resolved_at" timestamp with time zone,
	"completer_id" text collate "C",
	"is_in_progress" boolean,
	"field_id" text collate "C",
	"display_id" text collate "C",
	"is_deleted_at_source" boolean,
	"_valid_from" timestamp with time zone DEFAULT now() NOT NULL,
	"_hash" uuid,
	"_raw" jsonb,
	"_synced_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_run_id" bigint NOT NULL,
	"_message_count" integer DEFAULT 0 NOT NULL,
	"_reassignment_count" integer DEFAULT 0 NOT NULL,
	"_last_message_at" timestamp with time zone,
	"_first_response_at" timestamp with time zone,
	CONSTRAINT "followups_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "safety"."names" (
	"account_id" text collate "C" NOT NULL,
	"_key" text collate "C" NOT NULL,
	"kind" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"name" text,
	"code" text,
	"parent_id" text collate "C",
	"is_active" boolean,
	"_hash" uuid,
	"_raw" jsonb,
	"_synced_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_run_id" bigint NOT NULL,
	CONSTRAINT "names_account_id__key_pk" PRIMARY KEY("account_id","_key")
);
--> statement-breakpoint
CREATE TABLE "safety"."resource_versions" (
	"account_id" text collate "C" NOT NULL,
	"resource_id" text collate "C" NOT NULL,
	"ordinal" integer NOT NULL,
	"is_current" boolean NOT NULL,
	"created_at" timestamp with time zone,
	"approved_at" timestamp with time zone,
	"creator_id" text collate "C",
	"version" text,
	"description" text,
	"type" text,
	"file" text,
	"size" bigint,
	"link" text,
	CONSTRAINT "resource_versions_account_id_resource_id_ordinal_pk" PRIMARY KEY("account_id","resource_id","ordinal")
);
--> statement-breakpoint
CREATE TABLE "safety"."resources" (
	"account_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"title" text,
	"created_at" timestamp with time zone,
	"sequence" bigint,
	"category_id" text collate "C",
	"tags" text[],
	"should_be_available_offline" boolean,
	"_hash" uuid,
	"_raw" jsonb,
	"_synced_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_run_id" bigint NOT NULL,
	CONSTRAINT "resources_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "safety"."training_completion_states" (
	"account_id" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"training_id" bigint NOT NULL,
	"completed_on" date,
	"expires_on" date,
	"starts_expiring_on" date,
	"is_required" boolean,
	"valid_from" timestamp with time zone NOT NULL,
	"valid_to" timestamp with time zone NOT NULL,
	CONSTRAINT "training_completion_states_pk" PRIMARY KEY("account_id","user_id","training_id","valid_from")
);
--> statement-breakpoint
CREATE TABLE "safety"."training_completions" (
	"account_id" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"training_id" bigint NOT NULL,
	"completed_on" date,
	"expires_on" date,
	"starts_expiring_on" date,
	"is_required" boolean,
	"_valid_from" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "training_completions_account_id_user_id_training_id_pk" PRIMARY KEY("account_id","user_id","training_id")
);
--> statement-breakpoint
CREATE TABLE "safety"."training_employee_status" (
	"account_id" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"status" text,
	"percent_complete" numeric,
	"incomplete_training_ids" bigint[],
	"complete_training_ids" bigint[],
	"calculated_at" timestamp with time zone,
	"_valid_from" timestamp with time zone DEFAULT now() NOT NULL,
	"_hash" uuid,
	"_raw" jsonb,
	"_synced_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_run_id" bigint NOT NULL,
	CONSTRAINT "training_employee_status_account_id_user_id_pk" PRIMARY KEY("account_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "safety"."training_employee_status_states" (
	"account_id" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
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
CREATE TABLE "safety"."users" (
	"account_id" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"name" text,
	"first_name" text,
	"last_name" text,
	"employee_number" text,
	"email" text,
	"username" text,
	"job_title_id" text collate "C",
	"role_id" text collate "C",
	"field_office_ids" text[] collate "C",
	"line_of_business_ids" text[] collate "C",
	"client_ids" text[] collate "C",
	"supervisor_id" text collate "C",
	"manager_id" text collate "C",
	"hired_on" date,
	"terminated_on" date,
	"last_seen_at" timestamp with time zone,
	"_hash" uuid,
	"_raw" jsonb,
	"_synced_at" timestamp with time zone DEFAULT now() NOT NULL,
	"_deleted_at" timestamp with time zone,
	"_run_id" bigint NOT NULL,
	CONSTRAINT "users_account_id_id_pk" PRIMARY KEY("account_id","id")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."backfill_slices" (
	"account_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"created_from" timestamp with time zone NOT NULL,
	"created_to" timestamp with time zone NOT NULL,
	"status" text collate "C" NOT NULL,
	"read_to" timestamp with time zone,
	"expected" bigint,
	"records" bigint DEFAULT 0 NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "backfill_slices_account_id_stream_created_from_created_to_pk" PRIMARY KEY("account_id","stream","created_from","created_to")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."data_issues" (
	"account_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"fingerprint" text collate "C" NOT NULL,
	"record_id" text collate "C",
	"field" text collate "C",
	"kind" text collate "C" NOT NULL,
	"problem" text NOT NULL,
	"value" jsonb,
	"context" jsonb,
	"first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"occurrences" bigint DEFAULT 1 NOT NULL,
	"resolved_at" timestamp with time zone,
	CONSTRAINT "data_issues_account_id_stream_fingerprint_pk" PRIMARY KEY("account_id","stream","fingerprint")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."forgotten" (
	"account_id" text collate "C" NOT NULL,
	"pseudonym" text collate "C" NOT NULL,
	"person" text collate "C" NOT NULL,
	"words" integer,
	"key_id" text collate "C" NOT NULL,
	"forgotten_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "forgotten_account_id_pseudonym_pk" PRIMARY KEY("account_id","pseudonym")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."optional_methods" (
	"account_id" text collate "C" NOT NULL,
	"method" text collate "C" NOT NULL,
	"asked_at" timestamp with time zone NOT NULL,
	"read_at" timestamp with time zone,
	"code" text,
	"unnamed" text[] collate "C",
	"form" text,
	CONSTRAINT "optional_methods_account_id_method_pk" PRIMARY KEY("account_id","method")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."outbox" (
	"account_id" text collate "C" NOT NULL,
	"event" text collate "C" NOT NULL,
	"subject" text collate "C" NOT NULL,
	"channel" text collate "C" NOT NULL,
	"code" text,
	"detail" text,
	"began_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"sent_at" timestamp with time zone,
	"due_at" timestamp with time zone,
	"tries" integer DEFAULT 0 NOT NULL,
	"problem" text,
	CONSTRAINT "outbox_account_id_event_subject_channel_pk" PRIMARY KEY("account_id","event","subject","channel")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."privacy_cleanings" (
	"account_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"policy" jsonb NOT NULL,
	"position" text collate "C",
	"rows_seen" bigint DEFAULT 0 NOT NULL,
	"rows_changed" bigint DEFAULT 0 NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "privacy_cleanings_account_id_stream_pk" PRIMARY KEY("account_id","stream")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."request_budget" (
	"account_id" text collate "C" NOT NULL,
	"saved_since" timestamp with time zone NOT NULL,
	"blocked_at" timestamp with time zone,
	"blocked_until" timestamp with time zone,
	"probe_until" timestamp with time zone,
	CONSTRAINT "request_budget_account_id_pk" PRIMARY KEY("account_id")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."runs" (
	"run_id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "safety_sync"."runs_run_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"account_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"kind" text collate "C" NOT NULL,
	"trigger" text NOT NULL,
	"status" text collate "C" NOT NULL,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	"requests" bigint DEFAULT 0 NOT NULL,
	"retries" bigint DEFAULT 0 NOT NULL,
	"records_read" bigint DEFAULT 0 NOT NULL,
	"inserted" bigint DEFAULT 0 NOT NULL,
	"updated" bigint DEFAULT 0 NOT NULL,
	"unchanged" bigint DEFAULT 0 NOT NULL,
	"deleted" bigint DEFAULT 0 NOT NULL,
	"rejected" bigint DEFAULT 0 NOT NULL,
	"repaired" bigint,
	"watermark_before" timestamp with time zone,
	"watermark_after" timestamp with time zone,
	"error_code" text,
	"error_message" text,
	"request_id" text collate "C",
	"note" text,
	"owner" text NOT NULL,
	"backend_pid" integer,
	"program_version" text NOT NULL,
	CONSTRAINT "runs_account_id_run_id_pk" PRIMARY KEY("account_id","run_id")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."stream_state" (
	"account_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"watermark" timestamp with time zone,
	"backfill_from" timestamp with time zone,
	"backfill_to" timestamp with time zone,
	"backfill_watermark" timestamp with time zone,
	"backfill_started_at" timestamp with time zone,
	"calculated_at" timestamp with time zone,
	"checked_at" timestamp with time zone,
	"fresh_for_ms" bigint,
	"last_success_at" timestamp with time zone,
	"complete_read_at" timestamp with time zone,
	"complete_read_ms" bigint,
	"difference" bigint,
	"retained_at" timestamp with time zone,
	"read_parts" jsonb,
	"complete_until" timestamp with time zone,
	CONSTRAINT "stream_state_account_id_stream_pk" PRIMARY KEY("account_id","stream")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."user_lookups" (
	"account_id" text collate "C" NOT NULL,
	"user_id" text collate "C" NOT NULL,
	"first_met_at" timestamp with time zone DEFAULT now() NOT NULL,
	"asked_at" timestamp with time zone,
	"named_at" timestamp with time zone,
	CONSTRAINT "user_lookups_account_id_user_id_pk" PRIMARY KEY("account_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."account_changes" (
	"account_id" text collate "C" NOT NULL,
	"renamed_to" text collate "C",
	"began_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "account_changes_account_id_pk" PRIMARY KEY("account_id")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."sources" (
	"account_id" text collate "C" NOT NULL,
	"address" text NOT NULL,
	"service_id" text collate "C",
	"service_name" text,
	"moved_at" timestamp with time zone,
	CONSTRAINT "sources_account_id_pk" PRIMARY KEY("account_id")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."reader_accounts" (
	"role" "regrole" PRIMARY KEY NOT NULL,
	"accounts" text[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "safety"."calendar" (
	"date" date PRIMARY KEY NOT NULL,
	"iso_year" integer NOT NULL,
	"iso_week" integer NOT NULL,
	"week_starts_on" date NOT NULL,
	"month_starts_on" date NOT NULL,
	"quarter_starts_on" date NOT NULL,
	"year" integer NOT NULL,
	"month" integer NOT NULL,
	"day_of_week" integer NOT NULL,
	"is_weekend" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "safety"."labels" (
	"account_id" text collate "C" NOT NULL,
	"kind" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"label" text,
	"parent_id" text collate "C",
	CONSTRAINT "labels_account_id_kind_id_pk" PRIMARY KEY("account_id","kind","id"),
	CONSTRAINT "labels_kind_check" CHECK ("safety"."labels"."kind" in ('form', 'training', 'equipment_type', 'schedule', 'category', 'field_office', 'client', 'line_of_business', 'metafield', 'metafield_item'))
);
--> statement-breakpoint
CREATE TABLE "safety"."reporting_settings" (
	"account_id" text collate "C" NOT NULL,
	"timezone" text NOT NULL,
	"changed_at" timestamp with time zone NOT NULL,
	"followup_url" text,
	"resource_url" text,
	"equipment_url" text,
	"employee_url" text,
	CONSTRAINT "reporting_settings_account_id_pk" PRIMARY KEY("account_id")
);
--> statement-breakpoint
CREATE TABLE "safety"."equipment_completions" (
	"account_id" text collate "C" NOT NULL,
	"equipment_id" text collate "C" NOT NULL,
	"schedule_id" text collate "C" NOT NULL,
	"completed_at" timestamp with time zone NOT NULL,
	"was_due_at" timestamp with time zone,
	CONSTRAINT "equipment_completions_account_id_equipment_id_schedule_id_completed_at_pk" PRIMARY KEY("account_id","equipment_id","schedule_id","completed_at")
);
--> statement-breakpoint
CREATE TABLE "safety"."counted_days" (
	"account_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"timezone" text NOT NULL,
	"history_from" date NOT NULL,
	"counted_to" date NOT NULL,
	"counted" datemultirange NOT NULL,
	CONSTRAINT "counted_days_account_id_stream_pk" PRIMARY KEY("account_id","stream")
);
--> statement-breakpoint
CREATE TABLE "safety"."day_counts" (
	"account_id" text collate "C" NOT NULL,
	"stream" text collate "C" NOT NULL,
	"counted_by" text collate "C" NOT NULL,
	"id" text collate "C" NOT NULL,
	"status" text collate "C" NOT NULL,
	"days" date[] NOT NULL,
	"records" integer[] NOT NULL,
	"in_service" integer[] NOT NULL,
	CONSTRAINT "day_counts_account_id_stream_counted_by_id_status_pk" PRIMARY KEY("account_id","stream","counted_by","id","status")
);
--> statement-breakpoint
ALTER TABLE "safety"."equipment_asked_types" ADD CONSTRAINT "equipment_asked_types_equipment_fk" FOREIGN KEY ("account_id","equipment_id") REFERENCES "safety"."equipment"("account_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "safety"."equipment_metavalues" ADD CONSTRAINT "equipment_metavalues_equipment_fk" FOREIGN KEY ("account_id","equipment_id") REFERENCES "safety"."equipment"("account_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "safety"."equipment_schedules" ADD CONSTRAINT "equipment_schedules_equipment_fk" FOREIGN KEY ("account_id","equipment_id") REFERENCES "safety"."equipment"("account_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "safety"."followup_attachments" ADD CONSTRAINT "followup_attachments_message_fk" FOREIGN KEY ("account_id","followup_id","message_id") REFERENCES "safety"."followup_messages"("account_id","followup_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "safety"."followup_messages" ADD CONSTRAINT "followup_messages_followup_fk" FOREIGN KEY ("account_id","followup_id") REFERENCES "safety"."followups"("account_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "safety"."resource_versions" ADD CONSTRAINT "resource_versions_resource_fk" FOREIGN KEY ("account_id","resource_id") REFERENCES "safety"."resources"("account_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "safety"."training_completions" ADD CONSTRAINT "training_completions_status_fk" FOREIGN KEY ("account_id","user_id") REFERENCES "safety"."training_employee_status"("account_id","user_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "safety"."equipment_completions" ADD CONSTRAINT "equipment_completions_equipment_fk" FOREIGN KEY ("account_id","equipment_id") REFERENCES "safety"."equipment"("account_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "equipment_type_idx" ON "safety"."equipment" USING btree ("equipment_type_id");--> statement-breakpoint
CREATE INDEX "equipment_schedules_expires_idx" ON "safety"."equipment_schedules" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "followup_states_ended_idx" ON "safety"."followup_states" USING btree ("valid_to");--> statement-breakpoint
CREATE INDEX "followups_created_idx" ON "safety"."followups" USING brin ("created_at") WITH (pages_per_range=32);--> statement-breakpoint
CREATE INDEX "resource_versions_creator_idx" ON "safety"."resource_versions" USING btree ("creator_id");--> statement-breakpoint
CREATE INDEX "training_completions_expires_idx" ON "safety"."training_completions" USING btree ("expires_on");--> statement-breakpoint
CREATE INDEX "data_issues_open_idx" ON "safety_sync"."data_issues" USING btree ("account_id","stream","record_id") WHERE "safety_sync"."data_issues"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "data_issues_new_fields_idx" ON "safety_sync"."data_issues" USING btree ("account_id","stream","field") WHERE "safety_sync"."data_issues"."kind" = 'unknown_field' and "safety_sync"."data_issues"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "runs_stream_idx" ON "safety_sync"."runs" USING btree ("account_id","stream","run_id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "runs_running_idx" ON "safety_sync"."runs" USING btree ("account_id","stream") WHERE "safety_sync"."runs"."status" = 'running';--> statement-breakpoint
CREATE INDEX "runs_reconcile_idx" ON "safety_sync"."runs" USING btree ("account_id","stream","run_id" DESC NULLS LAST) WHERE "safety_sync"."runs"."kind" = 'reconcile';