"""Scripts, an app, a notebook and a dbt project; a package, installed as ppduck.examples, so that they come along."""
