-- What somebody is told about, and when the report comes next: of several workers the one that claims a row does it.
CREATE TABLE "safety_sync"."alerts" (
	"account_id" text NOT NULL,
	"event" text NOT NULL,
	"subject" text NOT NULL,
	"channel" text NOT NULL,
	"code" text,
	"detail" text,
	"began_at" timestamp with time zone NOT NULL,
	"ended_at" timestamp with time zone,
	"told_at" timestamp with time zone,
	"due_at" timestamp with time zone,
	"claimed_by" text,
	"claimed_until" timestamp with time zone,
	"tries" integer DEFAULT 0 NOT NULL,
	"problem" text,
	CONSTRAINT "alerts_account_id_event_subject_channel_pk" PRIMARY KEY("account_id","event","subject","channel")
);
--> statement-breakpoint
CREATE TABLE "safety_sync"."report_plans" (
	"account_id" text NOT NULL,
	"schedule" text NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"claimed_by" text,
	"claimed_until" timestamp with time zone,
	"tries" integer DEFAULT 0 NOT NULL,
	"made_at" timestamp with time zone,
	"error_code" text,
	CONSTRAINT "report_plans_account_id_pk" PRIMARY KEY("account_id")
);
--> statement-breakpoint
CREATE INDEX "data_issues_new_fields_idx" ON "safety_sync"."data_issues" USING btree ("account_id","stream","field") WHERE "safety_sync"."data_issues"."kind" = 'unknown_field' and "safety_sync"."data_issues"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "runs_repaired_idx" ON "safety_sync"."runs" USING btree ("account_id","stream","run_id" DESC NULLS LAST) WHERE "safety_sync"."runs"."repaired" is not null;