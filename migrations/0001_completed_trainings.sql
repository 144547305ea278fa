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
