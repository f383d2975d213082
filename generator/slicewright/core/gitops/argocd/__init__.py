"""What Argo CD needs: Applications, AppProjects and health checks."""
