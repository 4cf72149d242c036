"""What outlives a run, in the application's database: tables, migrations, repositories."""
